# SPDX-License-Identifier: Apache-2.0
# From `nm -D PROGRAM | sort` the assembler text of a libc without versions that has what the program takes of it: functions, and
# variables, of which several names may be one (environ).
{ type = $(NF - 1); name = $NF; sub(/@.*/, "", name) }
type ~ /[Uw]/ {
	print ".text\n.globl " name "\n.type " name ", %function\n" name ": .skip 8"
}
type ~ /[BVD]/ && $NF ~ /@/ {
	print (type == "V" ? ".weak " : ".globl ") name "\n.type " name ", %object\n.size " name ", 8"
	print $1 == place ? ".set " name ", " first : ".bss\n" name ": .skip 8"
	first = $1 == place ? first : name
	place = $1
}
