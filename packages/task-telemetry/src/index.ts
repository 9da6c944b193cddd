export { instrumentTaskstream } from './instrument.ts'
export type { DatabaseOptions, InstrumentOptions } from './instrument.ts'
export type { FleetOptions } from './metrics/fleet.ts'
export { schemaUrl } from './core/conventions.ts'
