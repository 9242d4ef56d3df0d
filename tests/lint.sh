#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What docs/architecture.md claims and a script can check: who may include
# what, what each archive needs from outside, one library in one place, which
# threads and locks there are, sizes.
# A fault fails it; a note is worth a second look, no more.
set -uo pipefail
variant=$1
bad=0
fault() {
	echo "lint: $*" >&2
	bad=1
}
note() { echo "lint: note: $*" >&2; }
sources() { git ls-files -co --exclude-standard "$@"; }

# --- rooms: one table, in docs/architecture.md -------------------------------
room_rows() { sed -nE "/^##+ $1/,/^##+ /s/^\\| \`([a-z/]+)\` \\|([^|]*)\\|.*/\\1:\\2/p" docs/architecture.md | tr -d '`'; }
pod=$(room_rows Rooms) tools=$(room_rows 'Of holderctl')
rooms=$pod$'\n'$tools
while IFS=: read -r room _; do
	while IFS=: read -r user _; do
		fault "docs/architecture.md: $user uses $room, which is holderctl's alone"
	done < <(grep -E "^[^:]*:(.* )?$room( |\$)" <<<"$pod")
done <<<"$tools"
[ "$(cut -d: -f1 <<<"$rooms" | sort)" = "$(sources 'src/*.c' | xargs -n1 dirname | sed 's,^src/,,' | sort -u)" ] ||
	fault "docs/architecture.md: its table of rooms and the folders of src differ"
while IFS=: read -r room uses; do
	allowed=$(tr ' ' '\n' <<<"$room $uses" | sed '/^$/d' | paste -sd'|')
	while IFS=: read -r file line text; do
		fault "$file:$line: $room must not include $text"
	done < <(sources "src/$room/*.[ch]" "include/$room/*.h" | grep -E "^(src|include)/$room/[^/]*$" |
		xargs grep -nHoE '#include "[a-z/]+/[^"]*"' |
		sed -E 's/#include "([^"]*)"/\1/' |
		grep -vE ":($allowed)/[^/]*$")
done <<<"$rooms"

# An #include in another form would pass by the check above.
tops=$(sed 's,[/:].*,,' <<<"$rooms" | sort -u | paste -sd'|')
while IFS=: read -r file line text; do
	fault "$file:$line: expected #include \"NAME.h\" or \"ROOM/NAME.h\": $text"
done < <(sources 'src/*.[ch]' 'include/*.h' | xargs grep -nHE '^[[:blank:]]*#[[:blank:]]*include\b' |
	sed -E "/:#include \"[a-z][a-z0-9_\/]*\.h\"/d; /:#include <($tops)\//b; /:#include <[a-z][A-Za-z0-9_\/]*\.h>/d")

# --- foreign libraries, each in its place ------------------------------------
# pattern of the header, pattern of the files that may include it
one_place() {
	while read -r file; do
		fault "$file: must not include <$1>"
	done < <(sources 'src/*.[ch]' 'include/*.h' |
		xargs grep -lE "#include <$1" | grep -vE "^src/($2)\$")
}
one_place 'cjson/' 'wire/json/json\.c'
one_place 'yaml\.h' 'wire/yaml/yaml\.c'
one_place 'curl/' 'edge/kube/[a-z_]*\.[ch]'
one_place 'microhttpd' 'edge/server/[a-z_]*\.[ch]'
one_place 'gnutls/' 'edge/server/[a-z_]*\.[ch]'
one_place 'openssl/' 'edge/certs/[a-z_]*\.[ch]'
one_place 'zlib' 'tools/simulate/input\.c'
while read -r file; do
	fault "$file: a library's type in a public header"
done < <(sources 'include/*.h' |
	xargs grep -lE '#include <(curl|cjson|yaml|microhttpd|gnutls|openssl|pthread)')

# --- threads and locks: two tables, in docs/architecture.md ---------------------
# each row of the section's table that names a file, and each file of a column
rows() { sed -nE "/^## $1\$/,/^## /s/^\| (.*) \|\$/\1/p" docs/architecture.md | grep -F '`'; }
files_in() { awk -F '|' -v c="$1" '{print $c}' | grep -oE '`[a-z_/]+\.[ch]`' | tr -d '`'; }
in_src() { sources 'src/*.[ch]' | xargs grep -oE "$@" | sed 's,^src/,,'; }
same() { # document, what, of the code, of the table
	while IFS= read -r at; do
		fault "docs/$1: $2: $at is in the code and not in the table"
	done < <(comm -23 <(sort -u <<<"$3") <(sort -u <<<"$4") | sed '/^$/d')
	while IFS= read -r at; do
		fault "docs/$1: $2: $at is in the table and not in the code"
	done < <(comm -13 <(sort -u <<<"$3") <(sort -u <<<"$4") | sed '/^$/d')
}
starts=$(in_src -H '\b(pthread_create|thrd_create|MHD_start_daemon)\(' | cut -d: -f1)
same architecture.md 'who starts threads' "$starts" "$(rows Threads | files_in 3)"
while read -r file; do
	fault "src/$file: starts threads at two places, and the table has one of them"
done < <(sort <<<"$starts" | uniq -d)
same architecture.md 'workers' "$(in_src -lE '^static const struct worker_kind [a-z_]+ =')" \
	"$(rows Threads | grep -F '`daemon/worker.c`' | files_in 2)"
# "file name" of each lock and condition, however many a line declares
locks=$(in_src -HE '\b(pthread_(mutex|cond|rwlock|spinlock|barrier)_t|(mtx|cnd|sem)_t) [^;=()]*[;=]' |
	sed -E 's/ ?[;=]$//; s/:[a-z_]+ /:/; s/[*,]//g' |
	while IFS=: read -r file names; do for n in $names; do echo "$file $n"; done; done)
same architecture.md 'locks' "$locks" "$(rows Locks | while IFS= read -r row; do
	file=$(files_in 1 <<<"$row")
	awk -F '|' '{ sub(/ in .*/, "", $1); print $1, $2 }' <<<"$row" | grep -oE '[a-z_]+' | sed "s,^,$file ,"
done)"
one_place 'pthread\.h' "$({ cut -d' ' -f1 <<<"$locks"; echo "$starts"; echo daemon/worker.h; } | sort -u | paste -sd'|')"

# --- bounds: in limits.h, or in a place that it names ------------------------------
limits=include/core/base/limits.h
elsewhere=$(sed -nE 's,^ \*\t([a-z]+/[a-z_/.]+)\t.*,\1,p' $limits | paste -sd'|')
while read -r at; do fault "$at: a bound of its own, and $limits does not name the place"; done < <(
	sources 'src/*.[ch]' 'include/*.h' | grep -v "^$limits\$" |
		xargs grep -noE '^#[ \t]*define [A-Z0-9_]+_MAX(_[A-Z]+)?\b' | grep -vE "^(src|include)/($elsewhere)")
while read -r name; do fault "$limits: nothing uses $name"; done < <(
	comm -12 <(sed -nE 's/^#define ([A-Z0-9_]+)[ \t].*/\1/p' $limits | sort) \
		<(sources 'src/*.[ch]' 'include/*.h' | xargs grep -ohwE '[A-Z0-9_]+' | sort | uniq -u))

# --- nm -u: what an archive takes from outside -------------------------------
undefined() { nm -u "$1" 2>/dev/null | awk '$1=="U"{print $2}' | sort -u; }
defined() { nm --defined-only "$@" 2>/dev/null | awk 'NF==3{print $3}' | sort -u; }
pure='mem(cpy|cmp|set|move|chr)|str(len|cmp|ncmp|chr|rchr|ncpy|str|spn|cspn)'
pure="$pure|__divti3|v?snprintf|calloc|malloc|free|fnmatch|__assert_fail|__stack_chk_fail"
pure="$pure|(__)?explicit_bzero(_chk)?|__(mem|str)[a-z]*_chk|__v?snprintf_chk|_GLOBAL_OFFSET_TABLE_"
alloc='malloc|realloc|strn?dup|strto[a-z]*|__isoc99_[a-z]*|__errno_location'
alloc="$alloc|__ctype_[a-z_]*|qsort|bsearch|strcasecmp|strncasecmp|strcasestr|memrchr|memmem|sscanf"
needs() { # archive, allowed pattern, archives below
	local allowed=$2 a=$1
	shift 2
	while read -r sym; do
		fault "$(basename "$a"): needs $sym from outside"
	done < <(comm -23 <(undefined "$a") <(defined "$a" "$@") |
		grep -vxE "$allowed")
}
archive() { echo "$variant/lib${1//\//_}.a"; }
while IFS=: read -r room uses; do
	below=()
	for r in $uses; do below+=("$(archive "$r")"); done
	case $room in
	core/*) allow=$pure ;;
	wire/json) allow="$pure|$alloc|cJSON_.*" ;;
	wire/yaml) allow="$pure|$alloc|yaml_.*" ;;
	wire/*) allow="$pure|$alloc" ;;
	*) # whatever libc and libraries have, but nothing of a room it does not name
		while read -r sym; do
			fault "$room: calls $sym of a room that it does not name"
		done < <(comm -12 <(comm -23 <(undefined "$(archive "$room")") \
			<(defined "$(archive "$room")" "${below[@]}")) \
			<(for r in $(cut -d: -f1 <<<"$rooms"); do archive "$r"; done | xargs nm --defined-only 2>/dev/null |
				awk 'NF==3{print $3}' | sort -u))
		continue
		;;
	esac
	needs "$(archive "$room")" "$allow" "${below[@]}"
done <<<"$rooms"

# a room in a row has to be used: by an #include, or by a call
while IFS=: read -r room uses; do
	for used in $uses; do
		sources "src/$room/*.[ch]" "include/$room/*.h" | grep -E "^(src|include)/$room/[^/]*$" |
			xargs grep -qE "#include \"$used/[^/\"]*\"" ||
			[ "$(comm -12 <(undefined "$(archive "$room")") <(defined "$(archive "$used")"))" ] ||
			fault "docs/architecture.md: $room does not use $used"
	done
	[ -e "src/$room/main.c" ] || grep -qE "[: ]$room( |\$)" <<<"$(cut -d: -f2- <<<"$rooms")" ||
		fault "docs/architecture.md: no room uses $room"
done <<<"$rooms"

# --- hardening: each object's branches, and the program ---------------------------
case $(readelf -h "$variant/cli/daemon/main.o" | sed -n 's/ *Machine: *//p') in
*X86-64) branches='IBT, SHSTK' ;;
AArch64) branches='BTI, PAC' ;;
*) branches= ;;
esac
while read -r object; do fault "$object: its branches are not protected: no $branches"; done < <(
	readelf -n "$variant"/cli/*/main.o "$variant"/*.a 2>/dev/null |
		awk -v want="$branches" '/^File: / { if (file) print file; file = $2 } index($0, want) { file = "" }
			END { if (file) print file }')
for program in "$variant/karpenter-node-holder" "$variant/holderctl"; do
	elf=$(readelf -hlWd "$program" && nm -D "$program")
	while IFS='|' read -r want what; do
		grep -qE "$want" <<<"$elf" || fault "$program: $what"
	done <<'Y'
Type: +DYN|no position-independent executable
GNU_STACK .* RW  0x|its stack is executable
GNU_RELRO|its relocations stay writable
FLAGS_1.* NOW|its calls of libraries stay writable
U __stack_chk_fail@|its stack is not protected
U __vsnprintf_chk@|no _FORTIFY_SOURCE
U __read_chk@|no _FORTIFY_SOURCE=3
Y
done
# The program of the pod starts no process, knows nothing of credential plugins' output, and reads nothing compressed.
while read -r found; do fault "$variant/karpenter-node-holder: $found" ; done < <(
	readelf -d "$variant/karpenter-node-holder" | grep -o 'NEEDED.*\[libz\..*'
	nm "$variant/karpenter-node-holder" | grep -oE ' T exec_(info|credential).*'
	nm -D -u "$variant/karpenter-node-holder" | grep -oE '\b(posix_spawn|v?fork|exec(v|l|ve)|fexecve|clone|popen|system|wordexp)[a-z_]*@.*'
)

# --- circles: the files of a room call each other in one direction --------------
while read -r file; do fault "${file/:/: }: in a circle of files that call each other"; done < <(
	while IFS=: read -r room _; do archive "$room"; done <<<"$rooms" | xargs nm -A 2>/dev/null |
		awk 'NF < 2 { next } { sub(/^.*\//, ""); split($1, at, ":"); file = at[1] ":" at[2] }
			$(NF - 1) ~ /^[TDBRC]$/ { of[$NF] = file }
			$(NF - 1) == "U" { user[++n] = file; what[n] = $NF }
			END { for (i = 1; i <= n; i++) if (what[i] in of) print user[i], of[what[i]] }' |
		sort -u | tsort 2>&1 >/dev/null | sed -n 's/^tsort: lib/lib/p')

# --- sizes and the rest --------------------------------------------------------
while read -r n file; do
	case $file in
	*.c) [ "$n" -le 500 ] || note "$file: $n lines, over 500" ;;
	*.h) [ "$n" -le 180 ] || note "$file: $n lines, over 180" ;;
	esac
done < <(sources 'src/*.[ch]' 'include/*.h' | xargs wc -l | grep -v ' total$')
while read -r where; do fault "$where: over 60 lines"; done < <(
	sources 'src/*.c' | xargs awk 'FNR==1{s=0} /^{/{s=FNR}
		/^}/{if(s&&FNR-s>60)print FILENAME":"s; s=0}')
# A reader finds what a name means: of one function name at most three.
while read -r n name; do fault "$name: a function in $n files"; done < <(
	sources 'src/*.c' | xargs grep -hoE '^[a-z][a-z0-9_]*\(' | sort | uniq -c | awk '$1 > 3 { print $1, $2 ")" }')
# ... and its file: an external function begins with the name of its file, or of the header that declares it. The room's name
# in front may be left out (server_conn.c: conn_add), and timers_parts.h counts as timers. Plural and singular are one.
while read -r where; do fault "$where"; done < <({
	sources 'src/*.h' 'include/*.h' | xargs awk '/^( \*|\/\*)/ { next }
		{ while (match($0, /[a-z][a-z0-9_]*\(/)) {
			print substr($0, RSTART, RLENGTH - 1), FILENAME
			$0 = substr($0, RSTART + RLENGTH)
		} }'
	while IFS=: read -r room _; do
		nm --defined-only "$(archive "$room")" 2>/dev/null |
			awk -v room="src/$room/" '/\.o:$/ { file = room $1 } $2 == "T" { print $3, file, "T" }'
	done <<<"$rooms"
} | awk '
	function one(word) { sub(/ies$/, "y", word); sub(/s$/, "", word); return word }
	function fits(name, path,   at, n, noun, room) { # does the name begin with the noun of the path?
		n = split(path, at, "/")
		room = at[n - 1] "_"
		noun = at[n]
		sub(/\..*/, "", noun)
		if (noun == "parts") noun = at[n - 1]
		sub(/_parts$/, "", noun)
		return begins(name, noun) || (index(noun, room) == 1 && begins(name, substr(noun, length(room) + 1)))
	}
	function begins(name, noun,   word, of, n, i, k) {
		k = split(noun, of, "_")
		n = split(name, word, "_")
		for (i = 1; i < k; i++) if (word[i] != of[i]) return 0
		return n >= k && one(word[k]) == one(of[k])
	}
	$3 == "" { fits($1, $2) && good[$1] = 1; next }
	$1 == "cmd_version" || $1 == "json_bool" { next } # a command of two programs; a value of json_printf
	$2 ~ /core\/controller\/status\./ && $1 ~ /^controller_/ { next }
	!($1 in good) && !fits($1, $2) { sub(/o:$/, "c", $2); print $2 ": " $1 " does not begin with the name of its file or header" }')
# A long file opens with its design: what it holds, how it works, what it promises.
while read -r file; do fault "$file: over 250 lines, and no comment of five lines or more before its code"; done < <(
	sources 'src/*.[ch]' | xargs awk '
		function end() { if (n > 250 && best < 5) print file }
		FNR == 1 { end(); file = FILENAME; best = lines = code = 0; next }
		{ n = FNR }
		/^\/\*/ { comment = !code; lines = 0 }
		comment { lines++; if (/\*\//) { comment = 0; if (lines > best) best = lines } ; next }
		/^(#|$)/ { next }
		{ code = 1 }
		END { end() }')
while read -r file; do fault "$file: no SPDX line"; done < <(
	sources '*.c' '*.h' '*.sh' '*.py' Makefile | xargs grep -L 'SPDX-License-Identifier')
while read -r where; do fault "$where"; done < <(
	sources 'src/*' 'include/*' 'tests/*.[ch]' | xargs grep -nE 'TODO|FIXME|\bXXX\b|#if 0|alloca\(')
# --- form: of src and include, as .clang-format has it --------------------
clang-format-14 --version >/dev/null || fault "no clang-format-14: run make deps"
while read -r where; do fault "$where: clang-format would change it: run make format"; done < <(
	sources 'src/*.[ch]' 'include/*.h' | xargs -P 2 -n 40 clang-format-14 -n 2>&1 |
		sed -nE 's/^([^:]+:[0-9]+):.*/\1/p' | sort -u)
# It leaves comments and texts as they are.  A text may be wider, if a break would hide its form.
while read -r where; do fault "$where: a comment of over 80 columns"; done < <(
	sources 'src/*.[ch]' 'include/*.h' | python3 -c '
import sys
for name in sys.stdin.read().split():
    inside = False
    for number, line in enumerate(open(name), 1):
        inside = inside or "/*" in line
        if inside and len(line.rstrip("\n").expandtabs()) > 80:
            print(f"{name}:{number}")
        inside = inside and "*/" not in line.rpartition("/*")[2]')
# --- the kubectl plugin, which runs in any shell of POSIX ------------------------
while read -r text; do fault "$text"; done < <(
	shellcheck -f gcc plugin/kubectl-karpenter_holder plugin/kubectl_complete-karpenter_holder plugin/krew.sh 2>&1)
# --- pictures: drawn from a history, and shown -----------------------------------
while read -r name; do
	[ -e "docs/rules/$name.svg" ] || fault "docs/rules/$name.svg: missing, run make pictures"
	[ -e "tests/sim/histories/rule-$name.txt" ] || fault "docs/rules/$name.svg: of no history"
	grep -q "(rules/$name.svg)" docs/rules.md || fault "docs/rules/$name.svg: not in docs/rules.md"
done < <({
	sources 'docs/rules/*.svg' 'tests/sim/histories/rule-*.txt'
	grep -oE 'rules/[a-z-]+\.svg' docs/rules.md
} | sed -E 's/.*(rules\/|rule-)//; s/\.(svg|txt)$//' | sort -u)
# --- anchors: what docs/NAME.md#anchor points to is a heading there ---------------
# GitHub's rule: lower case, blanks become '-', all but letters, digits, '-' and
# '_' goes; a heading that comes again has "-1", "-2", ...
declare -A heading
while read -r target; do heading[$target]=1; done < <(
	sources '*.md' | while read -r doc; do
		awk '/^ *```/ { code = !code } !code && /^#+ /' "$doc" | sed -E 's/^#+ +//; s/ +$//' |
			tr '[:upper:] ' '[:lower:]-' | sed 's/[^a-z0-9_-]//g' |
			awk -v doc="$doc" '{ print doc "#" $0 (seen[$0]++ ? "-" seen[$0] - 1 : "") }'
	done
)
while IFS=: read -r file line target; do
	[ "${heading[$target]-}" ] || fault "$file:$line: $target is no heading"
done < <(
	# in code, comments and alerts: by its path from the root
	# (the chart's schema has them as its README, which is made from it)
	sources 'src/*.[ch]' 'include/*.h' 'tests/*.[ch]' 'tests/*.py' 'tests/*.sh' 'deploy/*.yaml' |
		grep -vxF deploy/helm/schema.yaml | xargs grep -noHE '(docs/[a-z]+|README)\.md#[a-z][A-Za-z0-9_-]*'
	# in documents: links, from the folder that the document is in
	while IFS=: read -r file line target; do
		target=${target#](} target=${target%)}
		case $target in
		'#'*) echo "$file:$line:$file$target" ;;
		*) echo "$file:$line:$(realpath -m --relative-to=. "$(dirname "$file")/$target")" ;;
		esac
	done < <(sources '*.md' | xargs grep -noHE '\]\([^):]*#[^)]*\)')
)
# --- tables: a blank line would end one in the middle -----------------------------
while read -r where; do fault "$where: a table goes on after a blank line"; done < <(
	sources '*.md' | xargs awk '
		FNR == 1 { code = before = 0 }
		/^ *```/ { code = !code }
		{ row = !code && /^ *\|/ }
		alone && !/^ *\|[-| :]+$/ { print at }
		{ alone = row && !before; at = FILENAME ":" FNR; before = row }
		END { if (alone) print at }')
while read -r where; do fault "$where: of no document here"; done < <(
	sources 'src/*' 'include/*' 'tests/*' 'docs/*' | grep -v '^tests/lint\.sh$' | xargs grep -nHoF 'design §')
# --- a table stands once: two with the same names, or else the same rows, are copies --
while read -r where; do fault "$where: the same names as this table; keep one"; done < <(
	sources '*.md' | xargs awk -F ' *[|] *' '
		FNR == 1 { code = 0 }
		/^ *```/ { code = !code }
		code || !/^ *\|/ { row = 0; next }
		!row { row = 1; at[++n] = FILENAME ":" FNR }
		/^ *\|[-| :]+$/ { next }
		{ name = $0 }
		$2 ~ /^`/ { split($2, cell, "`"); name = cell[2] }
		{ rows[n]++; where[name] = where[name] " " n }
		END {
			for (name in where) {
				k = split(where[name], t, " ")
				for (i = 1; i < k; i++)
					for (j = i + 1; j <= k; j++)
						common[t[i] " " t[j]]++
			}
			for (pair in common) {
				split(pair, t, " ")
				least = rows[t[1]] < rows[t[2]] ? rows[t[1]] : rows[t[2]]
				if (t[1] != t[2] && common[pair] > 2 && 2 * common[pair] > least)
					print at[t[1]] ": " at[t[2]]
			}
		}')
# --- manual pages: mandoc has nothing to say, and each flag of --help is there -------
for program in karpenter-node-holder holderctl; do
	page=$(python3 -B docs/man.py "$variant/$program")
	while read -r text; do fault "docs/man.py: $program: $text"; done < <({
		mandoc -T lint -W warning <<<"$page"
		comm -23 <("$variant/$program" --help | sed -nE 's/^    ([a-z]+) .*/\1/p' |
			while read -r command; do "$variant/$program" "$command" --help; done |
			grep -oE '^    -.*:$' | grep -oE -- '--[a-z-]+' | sort -u) \
			<(grep '^\.It' <<<"$page" | grep -oE 'Fl -[a-z-]+' | sed 's/Fl -/--/' | sort -u)
	} 2>&1)
done
# --- names that people look up: log phrases, alerts, Events, metrics, annotations -
flat() { cat "$@" | tr -s '\n\t ' ' '; }
while IFS= read -r name; do
	grep -qF "\`$name\`" docs/operations.md || fault "docs/operations.md: nothing of \"$name\""
done < <({
	flat src/daemon/*.c src/tools/uninstall/*.c src/cli/*.c src/cli/*/*.c src/edge/*.c src/edge/*/*.c |
		grep -oE '\b(LOG|PHRASE|log_held|trouble|write_line)\([^"();]*"[^"]*"|\b(phrase|phrases\[\]|says\[\]) = [^;]*;' |
		grep -oE '"[^"]*"'
	flat src/core/protocol/event_series.c | grep -oE '"[A-Za-z]+", "(Normal|Warning)"' | cut -d, -f1
	sed -nE 's/^ *- alert: (.*)/"\1"/p' deploy/components/prometheus/prometheusrule.yaml
} | tr -d '"')
# the names in the first cells of a section
first_cells() {
	sed -nE "/^## $1\$/,/^## /s/^\| (\`[^|]*) \|.*/\1/p" docs/operations.md |
		grep -oE '`[^`]+`' | tr -d '`'
}
while IFS= read -r name; do
	sources 'src/*.c' | xargs grep -qF "\"$name\"" || fault "docs/operations.md: Log: nothing says \"$name\""
done < <(first_cells Log)
same operations.md Events "$(flat src/core/protocol/event_series.c |
	grep -oE '"[A-Za-z]+", "(Normal|Warning)"' | cut -d'"' -f2 | grep -v '^Observed')" \
	"$(first_cells 'Kubernetes Events')"
same operations.md metrics "$(flat src/wire/metrics/metrics.c |
	grep -oE '(family\(b, [a-z]+, |gauge\(b, |histogram\(b, |\{|= )"[?=]?[a-z_]+"' |
	sed -E 's/.*"[?=]?(.*)"/\1/' | grep -v '^would_')" "$(first_cells Metrics)"
same rules.md annotations "$(sources 'src/*.c' 'include/*.h' |
	xargs grep -hoE 'OWN_PREFIX "[a-z-]+"' | cut -d'"' -f2)" \
	"$(sed -nE 's/^\| `([a-z-]+): [^`]*`.*/\1/p' docs/rules.md)"
# --- what make mutants breaks is still there --------------------------------------
python3 -B tests/sim/mutants.py --places || bad=1
python3 -B tests/mutants/rooms.py --places || bad=1
python3 -B tests/matrix/matrix.py --check || bad=1
[ "$bad" = 0 ] && echo "lint: ok"
exit "$bad"
