/** An Oracle in a container, where a Docker daemon answers: `docker run` and nothing else, which is all that is needed of testcontainers. */
import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { NotInstalled } from './installed.ts'
import { freePort } from './throw-away.ts'

export interface OracleServer {
  /** `oracle://user:password@host:port/service`, of a user who may make users. */
  readonly url: string
  readonly version: string
  stop(): Promise<void>
}

/** Oracle Database Free; 19c is in no image that may be had without an account. https://github.com/gvenzl/oci-oracle-free */
const image = 'gvenzl/oracle-free:23-slim-faststart'

/**
 * Starts a container, which takes a minute or, with the image to be fetched, several.
 *
 * @throws NotInstalled if no daemon answers; Error if the container ends before it is ready
 */
export async function startOracle(): Promise<OracleServer> {
  try {
    execFileSync('docker', ['info'], { stdio: 'ignore', timeout: 20_000 })
  } catch (cause) {
    throw new NotInstalled('no Docker daemon answers', { cause })
  }
  const port = await freePort()
  const name = `taskstream-oracle-${randomBytes(6).toString('hex')}`
  const password = `p${randomBytes(12).toString('hex')}`
  const publish = ['--publish', `127.0.0.1:${port}:1521`, '--env', `ORACLE_PASSWORD=${password}`]
  const container = spawn('docker', ['run', '--rm', '--name', name, ...publish, image], { stdio: ['ignore', 'pipe', 'inherit'] })
  let log = ''
  await new Promise<void>((resolve, reject) => {
    container.once('error', reject)
    container.once('exit', (code) => reject(new Error(`Oracle ended with ${code} while starting:\n${log}`)))
    container.stdout.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-20_000)
      if (log.includes('DATABASE IS READY TO USE!')) resolve()
    })
  })
  container.removeAllListeners('exit')
  container.unref()
  return {
    url: `oracle://system:${password}@127.0.0.1:${port}/FREEPDB1`,
    version: image,
    stop: async () => void execFileSync('docker', ['rm', '--force', name], { stdio: 'ignore' }),
  }
}
