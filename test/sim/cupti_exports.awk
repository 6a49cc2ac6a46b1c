# Writes the version script of one release. Variables: release, as 12.4; node, the soname.
function number(text, parts) { split(text, parts, "."); return parts[1] * 100 + parts[2] }
BEGIN { print node " {\n\tglobal:" }
!/^#/ && NF == 2 && number($2) <= number(release) { print "\t\t" $1 ";" }
END { print "\tlocal: *;\n};" }
