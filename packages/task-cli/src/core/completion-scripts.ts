/**
 * The scripts by which shells ask what a line may go on with. All the knowledge is in `complete.ts`: a script hands over the line as far as the cursor,
 * and shows the answer.
 */
export const shells = ['bash', 'zsh', 'fish', 'pwsh'] as const
export type Shell = (typeof shells)[number]

// Bash takes : and = for the ends of words. So what stands before the last of them is cut from the answers.
const bash = `# bash completion for taskstream
_taskstream() {
  local line="\${COMP_LINE:0:COMP_POINT}" part="\${COMP_WORDS[COMP_CWORD]}" word before candidate
  case "$part" in : | =) part= ;; esac
  word="\${line##* }"
  before="\${word%"$part"}"
  COMPREPLY=()
  while IFS= read -r candidate; do
    candidate="\${candidate#"$before"}"
    printf -v candidate %q "$candidate"
    COMPREPLY+=("$candidate")
  done < <(taskstream __complete "$line" 2>/dev/null)
}
complete -o default -F _taskstream taskstream`

const zsh = `#compdef taskstream
_taskstream() {
  local -a candidates
  candidates=("\${(@f)$(taskstream __complete "\${(j: :)words[1,CURRENT-1]} $PREFIX" 2>/dev/null)}")
  candidates=(\${candidates:#})
  if (( $#candidates )); then
    compadd -a candidates
  else
    _files
  fi
}
if [[ "\${funcstack[1]}" == _taskstream ]]; then
  _taskstream "$@"
else
  compdef _taskstream taskstream
fi`

const fish = `# fish completion for taskstream
complete -c taskstream -f -a '(taskstream __complete (commandline -cp) 2>/dev/null)'
complete -c taskstream -l url-file -r -F`

const pwsh = `# PowerShell completion for taskstream
Register-ArgumentCompleter -Native -CommandName taskstream -ScriptBlock {
  param($word, $ast, $cursor)
  $length = $cursor - $ast.Extent.StartOffset
  $line = $ast.ToString().PadRight($length).Substring(0, $length)
  taskstream __complete $line 2>$null | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}`

export const completionScripts: Readonly<Record<Shell, string>> = { bash, zsh, fish, pwsh }
