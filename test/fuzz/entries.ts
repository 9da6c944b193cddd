/** Every entry, by name. */
import { fuzz } from './property.ts'
import type { FuzzedWorld, Tally } from './property.ts'

export const entries: Readonly<Record<string, () => Promise<FuzzedWorld>>> = {
  verbs: async () => (await import('./entries/verbs.ts')).openVerbs(),
  retries: async () => (await import('./entries/retries.ts')).openRetries(),
  timers: async () => (await import('./entries/timers.ts')).openTimers(),
  processing: async () => (await import('./entries/processing.ts')).openProcessing(),
  facade: async () => (await import('./entries/facade.ts')).openFacade(),
  cli: async () => (await import('./entries/cli.ts')).openCli(),
  external: async () => (await import('./entries/external.ts')).openExternal(),
  bodies: async () => (await import('./entries/bodies.ts')).openBodies(),
  addresses: async () => (await import('./entries/addresses.ts')).openAddresses(),
}

/** Fuzzes the calls of an entry, each with its share of the cases. */
export async function* fuzzEntry(name: string, cases: number, seed: number): AsyncGenerator<Tally> {
  const open = entries[name]
  if (!open) throw new Error(`There is no entry ${name}: ${Object.keys(entries).join(', ')}`)
  await using world = await open()
  for (const call of world.calls) yield await fuzz(world, call, Math.ceil(cases / world.calls.length), seed)
}
