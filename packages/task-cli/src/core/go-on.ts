/** Writes the command that goes on where another one has stopped. */
import { quoted } from './explain.ts'
import { withoutSecrets } from './secrets.ts'

/** The arguments with other values of some options: undefined leaves an option out. A password stays hidden. */
export function goOn(args: readonly string[], options: Readonly<Record<string, string | undefined>>): string {
  const kept: string[] = []
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!
    const name = Object.keys(options).find((option) => arg === option || arg.startsWith(`${option}=`))
    if (name === undefined) kept.push(arg)
    else if (arg === name) at++
  }
  const added = Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [name, value]))
  return withoutSecrets(['taskstream', ...kept, ...added].map(quoted).join(' '))
}
