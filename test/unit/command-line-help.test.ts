/** The help of every command: its words, options, defaults and examples change only together with the file that has them all. */
import { afterEach, expect, test, vi } from 'vitest'
import { programOf } from '../../packages/task-cli/src/program.ts'

type Command = ReturnType<typeof programOf>

afterEach(() => vi.unstubAllEnvs())

function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => 120, getOutHasColors: () => false })
  command.outputHelp()
  return text
}

/** The command and those below it, in the order of help. */
function withInner(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(withInner)]
}

test('every command says in its help what it does, with which options, and how it is called', async () => {
  vi.stubEnv('TASKSTREAM_URL', undefined)
  const helps = withInner(programOf('1.2.3')).map((command) => helpOf(command).replace('\nTASKSTREAM_URL is not set\n', ''))
  await expect(helps.join(`\n${'-'.repeat(120)}\n\n`)).toMatchFileSnapshot('command-line-help.txt')
})

test('help says which database a command would work on, and keeps the password to itself', () => {
  vi.stubEnv('TASKSTREAM_URL', 'postgres://shop:s3cret@db-1/orders')
  for (const command of withInner(programOf('1.2.3'))) {
    expect(helpOf(command)).toContain('\nTASKSTREAM_URL is set (postgres, shop@db-1/orders)\n')
    expect(helpOf(command)).not.toContain('s3cret')
  }
})
