import type { Dialect } from '../dialect.ts'
import { raw } from '../statement.ts'

/** Statements name their indexes: what their plans are does not depend on what tables hold. */
export const anyScale: Pick<Dialect, 'extent' | 'learnExtent' | 'scale'> = {
  scale: () => undefined,
  extent: raw('0'),
  learnExtent: () => {},
}
