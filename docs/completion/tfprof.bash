# SPDX-License-Identifier: Apache-2.0
# Completion for bash, made from the program's own tables by `make docs`; `make install` installs it.

# What is completed: `word`, and the option before it in `before`; bash splits --option=value into three words.
_tfprof_start()
{
	word=${COMP_WORDS[COMP_CWORD]}
	before=${COMP_WORDS[COMP_CWORD - 1]}
	if [[ $word == '=' ]]; then
		word=
	elif [[ $before == '=' ]]; then
		before=${COMP_WORDS[COMP_CWORD - 2]}
	fi
}

_tfprof_words() # WORDS
{
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$word")
	[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
}

_tfprof_paths() # -d or -f, and for -f a pattern of names that are left out
{
	compopt -o filenames
	mapfile -t COMPREPLY < <(compgen -d -- "$word"; [[ $1 == -d ]] || compgen -f ${2:+-X "$2"} -- "$word")
}

# Where the program to run stands among the words; behind the end when it is still to come.
_tfprof_place()
{
	for ((place = 2; place < COMP_CWORD; place++)); do
		case ${COMP_WORDS[place]} in
		--) ((place++)); return ;;
		--format | --output | --python | -o | -p) [[ ${COMP_WORDS[place + 1]} == '=' ]] && ((place++)); ((place++)) ;;
		-*) [[ ${COMP_WORDS[place + 1]} == '=' ]] && ((place += 2)) ;;
		*) return ;;
		esac
	done
}

# A program, or, behind it, what it completes itself where bash-completion is there.
_tfprof_program()
{
	if ((place < COMP_CWORD)) && declare -F _command_offset >/dev/null; then
		_command_offset "$place"
	elif ((place < COMP_CWORD)); then
		_tfprof_paths -f
	else
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -d -- "$word")
	fi
}

_tfprof()
{
	local word before place
	COMPREPLY=()
	_tfprof_start
	_tfprof_place
	if ((COMP_CWORD == 1)); then
		_tfprof_words 'run doctor help --help --version'
		return
	fi
	if ((place < COMP_CWORD)); then
		_tfprof_program
		return
	fi
	case ${COMP_WORDS[1]} in
	run)
		case $before in
		-o | --output) _tfprof_paths -d; return ;;
		--out) _tfprof_paths -d; return ;;
		--window) _tfprof_words 'all off'; return ;;
		--signal) _tfprof_words 'none'; return ;;
		--malloc) _tfprof_words 'off totals sample full'; return ;;
		--totals) _tfprof_words 'batched exact'; return ;;
		--drain) _tfprof_words 'auto inline thread helper'; return ;;
		--stacks) :; return ;;
		--cuda) _tfprof_words 'off hooks cupti'; return ;;
		--cuda-graph) _tfprof_words 'graph node'; return ;;
		--cuda-api) _tfprof_words '0 1'; return ;;
		--cuda-buffer) :; return ;;
		--cuda-flush) :; return ;;
		--ops) _tfprof_words 'off steps on shapes'; return ;;
		--step-range) :; return ;;
		--python) _tfprof_words 'off sample launch'; return ;;
		--python-time) :; return ;;
		--native-time) :; return ;;
		--io) _tfprof_words '0 1'; return ;;
		--xla-dump) _tfprof_words '0 1'; return ;;
		--sys) :; return ;;
		--max-bytes) :; return ;;
		--max-total-bytes) :; return ;;
		--keep-free) :; return ;;
		--full) _tfprof_words 'stop wrap'; return ;;
		--only) :; return ;;
		--skip) :; return ;;
		--env) _tfprof_words '0 1'; return ;;
		esac
		if [[ $word == -* ]]; then
			_tfprof_words '--output= --quiet --help --out= --window= --signal= --malloc= --totals= --drain= --stacks= --cuda= --cuda-graph= --cuda-api= --cuda-buffer= --cuda-flush= --ops= --step-range= --python= --python-time= --native-time= --io= --xla-dump= --sys= --max-bytes= --max-total-bytes= --keep-free= --full= --only= --skip= --env='
		else
			_tfprof_program
		fi
		;;
	doctor)
		case $before in
		-p | --python) _tfprof_paths -f; return ;;
		esac
		if [[ $word == -* ]]; then
			_tfprof_words '--kernel --python= --help'
		else
			_tfprof_program
		fi
		;;
	help)
		case $before in
		--format) _tfprof_words 'text man markdown'; return ;;
		esac
		if [[ $word == -* ]]; then
			_tfprof_words '--format= --help'
		else
			_tfprof_words 'run doctor help settings'
		fi
		;;
	esac
}
complete -F _tfprof tfprof
