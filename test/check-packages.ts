/** Checks each package as its users get it: the packed form, its entry points and their types. */
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const bin = join(root, 'node_modules', '.bin')

for (const name of readdirSync(join(root, 'packages'))) {
  const folder = join('packages', name)
  execFileSync(join(bin, 'publint'), ['run', folder, '--pack', 'npm', '--strict'], { cwd: root, stdio: 'inherit' })
  execFileSync(join(bin, 'attw'), ['--pack', folder, '--profile', 'esm-only', '--format', 'ascii'], {
    cwd: root,
    stdio: 'inherit',
  })
}
