/** The systems under test, by name. Each is loaded when it is used, so that a worker starts no slower because of the others. */
import type { System } from './system.ts'

const systems = {
  taskstream: async () => (await import('./taskstream.ts')).taskstream('leased'),
  'taskstream, transactional': async () => (await import('./taskstream.ts')).taskstream('transactional'),
  'pg-boss': async () => (await import('./boss.ts')).boss,
  'graphile-worker': async () => (await import('./graphile.ts')).graphile,
} as const satisfies Readonly<Record<string, () => Promise<System>>>

export type SystemName = keyof typeof systems
export const systemNames = Object.keys(systems) as SystemName[]

export function loadSystem(name: SystemName): Promise<System> {
  return systems[name]()
}
