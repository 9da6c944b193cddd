/** An example whose dependencies are its own: a copy of it, in which they are installed beside the packages of this checkout. */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '..')

export interface InstalledExample extends AsyncDisposable {
  readonly folder: string
}

export async function installExample(name: string): Promise<InstalledExample> {
  const folder = await mkdtemp(join(tmpdir(), `taskstream-${name}-`))
  await cp(join(root, 'examples', name), folder, { recursive: true })
  await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', '--no-package-lock', '--silent'], { cwd: folder })
  const modules = join(folder, 'node_modules')
  await mkdir(join(modules, '@taskstream'), { recursive: true })
  for (const one of await readdir(join(root, 'packages')))
    await symlink(join(root, 'packages', one), one === 'taskstream' ? join(modules, one) : join(modules, '@taskstream', one))
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}
