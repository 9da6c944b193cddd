/** A dashboard for Grafana. */
import { rowsOf } from './panels.ts'
import type { Panel } from './panels.ts'
import type { AlertLevels } from './rules.ts'

/** A dashboard as Grafana imports it. */
export type Dashboard = Readonly<Record<string, unknown>>

const width = 24
const perRow = 4
const height = 8

/**
 * A dashboard for Grafana, to be imported or provisioned as JSON.
 *
 * @example
 * writeFileSync('taskstream.json', JSON.stringify(dashboard(alerts)))
 */
export function dashboard(levels: AlertLevels): Dashboard {
  const panels: unknown[] = []
  let id = 0
  let y = 0
  for (const row of rowsOf(levels)) {
    const line = { x: 0, y: y++, w: width, h: 1 }
    panels.push({ id: ++id, type: 'row', title: row.title, collapsed: false, gridPos: line, panels: [] })
    const columns = Math.min(perRow, row.panels.length)
    const w = width / columns
    row.panels.forEach((panel, index) => {
      const place = { x: (index % columns) * w, y: y + Math.floor(index / columns) * height, w, h: height }
      panels.push(panelOf(panel, ++id, place))
    })
    y += Math.ceil(row.panels.length / columns) * height
  }
  return {
    uid: 'taskstream',
    title: 'taskstream',
    tags: ['taskstream'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    timezone: 'browser',
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: { list: [{ name: 'source', label: 'Prometheus', type: 'datasource', query: 'prometheus' }] },
    annotations: { list: [] },
    panels,
  }
}

function panelOf({ title, type, unit, queries, bad, below }: Panel, id: number, gridPos: object): unknown {
  const datasource = { type: 'prometheus', uid: '${source}' }
  const [low, high] = below ? ['red', 'green'] : ['green', 'red']
  const steps = [{ color: low, value: null }, ...(bad === undefined ? [] : [{ color: high, value: bad }])]
  const how = type === 'timeseries' ? { range: true } : { instant: true, ...(type === 'table' && { format: 'table' as const }) }
  return {
    id,
    type,
    title,
    gridPos,
    datasource,
    fieldConfig: {
      defaults: {
        unit,
        thresholds: { mode: 'absolute', steps },
        ...(type === 'timeseries' && bad !== undefined && { custom: { thresholdsStyle: { mode: 'line' } } }),
      },
      overrides: [],
    },
    options: {},
    targets: queries.map(([expr, legendFormat], index) => ({
      refId: String.fromCodePoint(65 + index),
      datasource,
      expr,
      legendFormat,
      ...how,
    })),
  }
}
