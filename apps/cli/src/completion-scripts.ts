// The scripts of `beaver completion`. Each asks `beaver __complete` for candidates and gives them to its shell as
// data: nothing that Beaver or a task says is evaluated. complete-words.ts describes the request and the answer.
//
// Libraries were looked at first. @bomb.sh/tab 0.0.22 evaluates what was typed and what is answered
// (`eval`, `compgen -W`), so that a title with `$(…)` would run.

export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

/** @param command the path or the name with which the script calls Beaver */
export const completionScript = (shell: Shell, command: string): string =>
  scripts[shell](/^[\w./-]+$/.test(command) ? command : `'${command.replaceAll("'", String.raw`'\''`)}'`)

const scripts: Readonly<Record<Shell, (command: string) => string>> = {
  bash: (
    command,
  ) => String.raw`# Completion of beaver for bash. In ~/.bashrc: source <(beaver completion bash)
_beaver() {
  local line kind=
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ -z $kind ]]; then kind=$line; else COMPREPLY+=("$line"); fi
  done < <(${command} __complete bash "${'$'}{COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null </dev/null)
  case $kind in
    files) compopt -o default 2>/dev/null ;;
    folders) compopt -o plusdirs 2>/dev/null ;;
  esac
  return 0
}
complete -F _beaver beaver
`,
  zsh: (command) => String.raw`#compdef beaver
# Completion of beaver for zsh. In ~/.zshrc, after compinit: source <(beaver completion zsh)
_beaver() {
  local line value
  local -a lines values shown
  lines=("${'$'}{(@f)$(${command} __complete zsh "${'$'}{(@Q)words[2,CURRENT-1]}" "${'$'}{(Q)PREFIX}" 2>/dev/null </dev/null)}")
  for line in "${'$'}{(@)lines[2,-1]}"; do
    value=${'$'}{line%%$'\t'*}
    values+=("$value")
    if [[ $line == *$'\t'* ]]; then shown+=("$value  -- ${'$'}{line#*$'\t'}"); else shown+=("$value"); fi
  done
  (( $#values )) && compadd -V beaver -l -d shown -a values
  case $lines[1] in
    files) _files ;;
    folders) _files -/ ;;
  esac
  return 0
}
if [[ $funcstack[1] == _beaver ]]; then _beaver; else compdef _beaver beaver; fi
`,
  fish: (
    command,
  ) => String.raw`# Completion of beaver for fish. In ~/.config/fish/config.fish: beaver completion fish | source
function __beaver_complete
    set -l words (commandline -opc)
    set -e words[1]
    set -l current (commandline -ct)
    set -l lines (${command} __complete fish $words "$current" 2>/dev/null </dev/null)
    switch "$lines[1]"
        case files
            __fish_complete_path "$current"
        case folders
            __fish_complete_directories "$current"
    end
    set -e lines[1]
    if set -q lines[1]
        printf '%s\n' $lines
    end
end
complete -c beaver -f -k -a '(__beaver_complete)'
`,
}
