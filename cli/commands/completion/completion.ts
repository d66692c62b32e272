import type { ParsedArguments } from '../../command.ts'
import { usageError } from '../../failures.ts'
import type { Terminal } from '../../terminal.ts'

/** Scripts that get the candidates from `scopegate __complete`. The bash script also runs in bash 3.2 of macOS. */
const SCRIPTS = new Map([
  [
    'bash',
    `# bash completion of scopegate; made by: scopegate completion bash
_scopegate() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" IFS=$'\\n' line
  [ "$cur" = '=' ] && cur=''
  COMPREPLY=()
  while read -r line; do
    case "$line" in
      :files) COMPREPLY+=($(compgen -f -- "$cur")) ;;
      :folders) COMPREPLY+=($(compgen -d -- "$cur")) ;;
      *) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done < <("$1" __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o filenames -F _scopegate scopegate
`,
  ],
  [
    'zsh',
    `#compdef scopegate
# zsh completion of scopegate; made by: scopegate completion zsh
_scopegate() {
  local line
  local -a described
  for line in \${(f)"$(scopegate __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)"}; do
    case $line in
      :files) compset -P '--*='; _files ;;
      :folders) compset -P '--*='; _files -/ ;;
      *) described+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
    esac
  done
  (( $#described )) && _describe scopegate described
}
_scopegate "$@"
`,
  ],
  [
    'fish',
    `# fish completion of scopegate; made by: scopegate completion fish
function __scopegate_complete
  set -l words (commandline -opc)
  set -e words[1]
  set -l current (commandline -ct)
  set -l prefix (string match -r -- '^--[^=]*=' "$current")
  set -l value (string replace -r -- '^--[^=]*=' '' "$current")
  for line in (scopegate __complete $words "$current" 2>/dev/null)
    switch $line
      case :files
        __fish_complete_path "$value" | string replace -r -- '^' "$prefix"
      case :folders
        __fish_complete_directories "$value" | string replace -r -- '^' "$prefix"
      case '*'
        echo $line
    end
  end
end
complete -c scopegate -f -a '(__scopegate_complete)'
`,
  ],
])

export async function completion(given: ParsedArguments, terminal: Terminal): Promise<number> {
  const [shell = ''] = given.positionals
  const script = SCRIPTS.get(shell)
  if (script === undefined)
    throw usageError(
      'completion',
      `the shell must be one of ${[...SCRIPTS.keys()].join(', ')}, not "${shell}"`,
    )
  terminal.out.write(script)
  return 0
}
