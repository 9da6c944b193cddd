/** The terminal of an operator. It knows no engine, so that it can be loaded before one has started. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { nodeArguments } from '../e2e/command-line.ts'
import type { Run } from '../e2e/command-line.ts'
import type { Asked, Staged } from './incident.ts'
import type { Site } from './site.ts'

/** Asks again until the answer comes: processes take their time. @throws Error with the last answer if it does not come */
export async function settled(
  site: Site,
  { command, shows, code }: Asked,
  staged: Pick<Staged, 'url' | 'env'> = {},
): Promise<Run> {
  for (let tries = 1; ; tries++) {
    const ran = await site.taskstream(command, staged)
    if (shows.test(ran.out) && (code === undefined || ran.code === code)) return ran
    if (tries === mostTries) throw new Error(`taskstream ${command.join(' ')} does not show ${shows}:\n${ran.out}${ran.err}`)
    await delay(200)
  }
}

/** A command takes half a second at least. */
const mostTries = 100

/** Runs a command as it was printed, comments included, with the answer that the operator would give when asked. */
export async function typed(site: Site, line: string): Promise<string> {
  const answered = /^taskstream redrive .*--error/.test(line) ? line.replace(/( #.*)?$/, ' --yes$1') : line
  const script = `taskstream() { "$NODE" --no-warnings --conditions=@taskstream/source "$CLI" "$@"; }\n${answered}`
  const child = spawn('sh', ['-c', script], {
    env: {
      ...process.env,
      TASKSTREAM_URL: site.url,
      NODE: process.execPath,
      CLI: nodeArguments.at(-1),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`${line} ended with ${code}: ${output}`)
  return `$ ${line}\n${output.trim()}`
}
