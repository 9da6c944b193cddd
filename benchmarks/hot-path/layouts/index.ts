/** Every layout by name, and every mutant of C: the same layout without one of its guards. */
import type { Guards } from './hot-riding-sql.ts'
import { hotRiding, riding } from './hot-riding.ts'
import { hotTicked } from './hot-ticked.ts'
import type { Layout } from './layout.ts'
import { listedAlways } from './listed-always.ts'
import { product } from './product.ts'
import { readyIndex } from './ready-index.ts'

export const layouts: readonly Layout[] = [readyIndex, hotTicked, hotRiding, listedAlways, product]

/** C again with one thing changed, for a measurement of that thing alone. */
export const variants: readonly Layout[] = [
  riding({ name: 'hot-riding-minimal', note: 'C with the columns it needs itself', columns: 'minimal' }),
  riding({ name: 'hot-riding-45', note: 'C at fillfactor 45', fillfactor: 45 }),
  riding({ name: 'hot-riding-70', note: 'C at fillfactor 70', fillfactor: 70 }),
]

const mutations: Readonly<Record<string, Partial<Guards>>> = {
  'no xid before the sequence': { xidFirst: false },
  'settled at once': { settles: 'at once' },
  'mark = snapshot xmax': { settles: 'snapshot xmax' },
  'bound of today': { settles: 'bound of today' },
  'not only clean transactions': { clean: false },
  'floor passes visible READY rows': { stopsAtReady: false },
  'reset without listed': { lists: false },
  'completion without attempt': { fenced: false },
  'no ledger': { ledger: 'none' },
  'ledger forgotten with the owner': { ledger: 'forgotten early' },
  'memory survives a crash': { epoch: false },
}

export const mutants: readonly Layout[] = Object.entries(mutations).map(([name, guards]) =>
  riding({ name, note: 'a mutant of C', guards }),
)

export function findLayout(name: string): Layout {
  const layout = [...layouts, ...variants, ...mutants].find((each) => each.name === name)
  if (!layout) throw new Error(`No layout is called "${name}"`)
  return layout
}
