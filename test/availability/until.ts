import { setTimeout as delay } from 'node:timers/promises'

/** A busy machine takes long to start a server. */
const patienceMs = 240_000

/** Waits for a fact. @throws Error if it does not come about */
export async function until(what: string, isSo: () => Promise<boolean>, withinMs = patienceMs): Promise<void> {
  const endMs = performance.now() + withinMs
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`In vain it was waited for ${withinMs / 1_000} seconds until ${what}`)
    await delay(50)
  }
}
