/** For orchestrators that run a command: ends with 0 if this machine's worker answers well. `node src/probe.ts readyz` */
import { settings } from './settings.ts'

const response = await fetch(`http://127.0.0.1:${settings.healthPort}/${process.argv[2] ?? 'readyz'}`)
if (!response.ok) {
  console.error((await response.text()).trim())
  process.exitCode = 1
}
