import { Argument } from 'commander'
import type { Command } from 'commander'
import { candidatesOf } from '../core/complete.ts'
import { completionScripts, shells } from '../core/completion-scripts.ts'
import type { Shell } from '../core/completion-scripts.ts'

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print a script that has a shell complete commands, options, topics, states and contexts')
    .addArgument(new Argument('<shell>').choices(shells))
    .addHelpText(
      'after',
      `
Examples:
  taskstream completion bash > ~/.local/share/bash-completion/completions/taskstream
  taskstream completion zsh > "\${fpath[1]}/_taskstream"
  taskstream completion fish > ~/.config/fish/completions/taskstream.fish
  taskstream completion pwsh >> $PROFILE`,
    )
    .action((shell: Shell) => console.log(completionScripts[shell]))
  // The scripts call this with the line as far as the cursor. It never fails and never writes an error: that would disturb the line.
  program
    .command('__complete', { hidden: true })
    .argument('[line]')
    .action(async (line: string = '') => {
      for (const candidate of await candidatesOf(program, line)) console.log(candidate)
      // A database that did not answer in time may keep its connection, and the shell waits for this process.
      process.stdout.write('', () => process.exit(0))
    })
}
