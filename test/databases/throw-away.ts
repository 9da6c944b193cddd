/** The common parts of all servers that the tests start: a temporary folder, an unprivileged user, and a reliable end. */
import { execFileSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { availableMemory } from 'node:process'

const nobody = 65534

/** Servers refuse to run as root. A test run by root starts them as `nobody`, a user who exists everywhere and owns only their folders. */
export const identity: { readonly uid?: number; readonly gid?: number } =
  process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}

const memory = '/dev/shm'
/** A million rows, their log and the databases of two files at a time take less. */
const roomBytes = 6 * 2 ** 30

/**
 * Where databases are kept that need not outlive a power cut: in memory if there is room, because disks are slow to make tables and to drop
 * them. Otherwise it is the temporary folder.
 */
export const volatile: string = hasRoom() ? memory : tmpdir()

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memory)
    return process.platform === 'linux' && Math.min(bavail * bsize, availableMemory()) > roomBytes
  } catch {
    // Other systems have no such folder.
    return false
  }
}

/** Makes a folder for one server of this process, and first removes the folders of servers whose starter is gone. */
export function makeFolder(prefix: string, parent: string = tmpdir()): string {
  for (const each of new Set([tmpdir(), volatile])) reap(prefix, each)
  const folder = mkdtempSync(join(parent, prefix))
  chmodSync(folder, 0o755)
  writeFileSync(join(folder, 'owner'), String(process.pid))
  return folder
}

/** Notes which process serves the folder, so that a later run can end it. */
export function noteServer(folder: string, server: ChildProcess): void {
  writeFileSync(join(folder, 'server'), String(server.pid))
}

/** Resolves when the server has written a line that contains `words`. */
export async function ready(server: ChildProcess, name: string, words: string): Promise<void> {
  let log = ''
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.once('exit', (code) => reject(new Error(`${name} ended with ${code} while starting:\n${log}`)))
    server.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-20_000)
      if (log.includes(words)) resolve()
    })
  })
  server.removeAllListeners('exit')
  server.unref()
}

/** How long a server may take to end by another signal than SIGKILL. */
const patienceMs = 60_000

/** Resolves when the server has ended, by the signal or in the end by SIGKILL. */
export async function end(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  server.ref()
  const ended = once(server, 'exit')
  server.kill(signal)
  const giveUp = setTimeout(() => server.kill('SIGKILL'), patienceMs)
  await ended
  clearTimeout(giveUp)
}

/** Systems draw the ports of outgoing connections above these. A server that is away for a while would not get such a port back. */
const ports = [10_000, 32_768] as const

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(...ports)
    const probe = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false))
      probe.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    probe.close()
    await once(probe, 'close')
    return port
  }
}

/** Stops servers whose starter is gone (it was killed) and removes their folders. */
function reap(prefix: string, parent: string): void {
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(prefix)) continue
    try {
      reapFolder(join(parent, name))
    } catch {
      // Another run may have removed the folder, or it belongs to another user. No test of this run should fail because of that.
    }
  }
}

function reapFolder(folder: string): void {
  const owner = readPid(join(folder, 'owner'))
  // A young folder without an owner is still being set up by another process.
  if (owner === undefined ? Date.now() - statSync(folder).mtimeMs < 60_000 : isRunning(owner)) return
  const server = readPid(join(folder, 'server'))
  if (server !== undefined && isServerOf(server, folder)) {
    process.kill(server, 'SIGQUIT')
    // It may stand still.
    process.kill(server, 'SIGCONT')
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
}

function readPid(path: string): number | undefined {
  try {
    return Number(readFileSync(path, 'utf8')) || undefined
  } catch {
    return undefined
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Whether the process is a server on this very folder. Process ids are reused, so this is checked before a signal is sent. */
function isServerOf(pid: number, folder: string): boolean {
  try {
    return execFileSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }).includes(folder)
  } catch {
    return false
  }
}
