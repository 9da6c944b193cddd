import { mkdtempSync, rmSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { HeldTask } from '@taskstream/task-api'

/** The tasks that programs are working on, as files in a folder that only this user can read. */
export class TaskFiles implements Disposable {
  readonly #folder: string
  /** Also at an exit that waits for nobody. A process that is killed leaves its folder behind. */
  readonly #remove = (): void => rmSync(this.#folder, { recursive: true, force: true })

  constructor() {
    this.#folder = mkdtempSync(join(tmpdir(), 'taskstream-work-'))
    process.on('exit', this.#remove)
  }

  /** Writes a task as JSON. What it does not have is null. @returns the path of the file */
  async write(task: HeldTask): Promise<string> {
    const { topic, sequence, identifier, attempt, tries, maxTries = null, externalId = null, reference = null } = task
    const { priority, deadline = null, headers = null, input = null } = task
    const path = join(this.#folder, `${sequence}-${attempt}.json`)
    const text = JSON.stringify({
      topic,
      sequence,
      identifier,
      attempt,
      tries,
      maxTries,
      externalId,
      reference,
      priority,
      deadline,
      headers,
      input,
    })
    await writeFile(path, text, { mode: 0o600, flag: 'wx' })
    return path
  }

  async remove(path: string): Promise<void> {
    await rm(path, { force: true })
  }

  [Symbol.dispose](): void {
    process.off('exit', this.#remove)
    this.#remove()
  }
}
