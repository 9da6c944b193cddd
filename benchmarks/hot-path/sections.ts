/** What the benchmark consists of; every section gives one table. */
import type { PostgresServer } from '../../test/databases/postgres-server.ts'
import { measureDisturbed, measureThroughput } from './drain.ts'
import type { Disturbance, Throughput } from './drain.ts'
import { hammer, isClean } from './hammer.ts'
import type { HammerResult } from './hammer.ts'
import { measureHistory, span } from './history.ts'
import { findLayout, layouts, mutants, variants } from './layouts/index.ts'
import { measurePeer, peers } from './peers.ts'
import { measureProduct } from './product.ts'
import { median, rates } from './report.ts'
import type { Section } from './report.ts'
import { play, scenarios } from './scenarios.ts'

type Measure = (server: PostgresServer, quick: boolean) => Promise<Section>

async function throughputOf(
  contenders: Readonly<Record<string, () => Promise<Throughput>>>,
  rounds: number,
): Promise<Map<string, Throughput[]>> {
  const results = new Map<string, Throughput[]>(Object.keys(contenders).map((name) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const [name, measure] of Object.entries(contenders)) results.get(name)?.push(await measure())
  }
  return results
}

const throughputHead = ['', 'push k/s', '1 process', '2 processes', 'x', 'HOT']

function throughputRows(results: ReadonlyMap<string, readonly Throughput[]>, base: string): string[][] {
  const of = (name: string, pick: (each: Throughput) => number): number[] => results.get(name)?.map(pick) ?? []
  const ratio = (name: string, pick: (each: Throughput) => number): string =>
    (median(of(name, pick)) / median(of(base, pick))).toFixed(2)
  return [...results.keys()].map((name) => [
    name,
    rates(of(name, (each) => each.push)),
    rates(of(name, (each) => each.drain1)),
    rates(of(name, (each) => each.drain2)),
    `${ratio(name, (each) => each.push)} / ${ratio(name, (each) => each.drain1)} / ${ratio(name, (each) => each.drain2)}`,
    median(of(name, (each) => each.hot)).toFixed(2),
  ])
}

const drain: Measure = async (server, quick) => {
  const tasks = quick ? 20_000 : 100_000
  const contenders = {
    ...Object.fromEntries(layouts.map((layout) => [layout.name, () => measureThroughput(server.connection, layout, tasks)])),
    'taskstream, through TaskNode': () => measureProduct(server.connection, tasks),
    ...Object.fromEntries(peers.map((peer) => [peer, () => measurePeer(server.connection, peer, tasks)])),
  }
  const rows = throughputRows(await throughputOf(contenders, quick ? 1 : 3), 'graphile-worker')
  return { title: `Push and drain, ${tasks} tasks, batch 1000, x = relative to graphile-worker`, head: throughputHead, rows }
}

const columns: Measure = async (server, quick) => {
  const compared = [findLayout('hot-riding'), ...variants]
  const contenders = Object.fromEntries(
    compared.map((layout) => [layout.name, () => measureThroughput(server.connection, layout, quick ? 20_000 : 100_000)]),
  )
  const rows = throughputRows(await throughputOf(contenders, quick ? 1 : 5), 'hot-riding-minimal')
  return { title: 'What columns and free space cost, x = relative to minimal columns', head: throughputHead, rows }
}

const disturbed: Measure = async (server, quick) => {
  const tasks = quick ? 50_000 : 200_000
  const disturbances: Disturbance[] = ['nothing', 'a snapshot held', 'a writer held']
  const results = new Map<string, number[]>()
  for (let round = 0; round < (quick ? 1 : 3); round++) {
    for (const layout of layouts) {
      for (const disturbance of disturbances) {
        const key = `${layout.name} ${disturbance}`
        results.set(key, [...(results.get(key) ?? []), await measureDisturbed(server.connection, layout, tasks, disturbance)])
      }
    }
  }
  const of = (layout: string, disturbance: Disturbance): number[] => results.get(`${layout} ${disturbance}`) ?? []
  const ratio = (layout: string, disturbance: Disturbance): string =>
    (median(of(layout, disturbance)) / median(of(layout, 'nothing'))).toFixed(2)
  const rows = layouts.map(({ name }) => [
    name,
    ...disturbances.map((disturbance) => rates(of(name, disturbance))),
    ratio(name, 'a snapshot held'),
    ratio(name, 'a writer held'),
  ])
  return {
    title: `Drain of ${tasks} tasks by 2 processes beside another session`,
    head: ['k/s', ...disturbances, 'snapshot x', 'writer x'],
    rows,
  }
}

const history: Measure = async (server, quick) => {
  const finished = quick ? 100_000 : 1_000_000
  const rows: string[][] = []
  for (const layout of layouts) {
    const result = await measureHistory(server.connection, layout, finished)
    const bytes = [result.tableBytes, result.indexBytes].map((each) => each.toFixed(0))
    rows.push([layout.name, span(result.cold), span(result.coldAfterReset), span(result.expiry), ...bytes])
  }
  return {
    title: `After ${finished} finished tasks, ms median / max; at the beginning a delayed row and one that stays ACTIVE`,
    head: ['', 'cold poll of 10', 'cold, row 1 reset', 'expire 1000', 'table bytes', 'index bytes'],
    rows,
  }
}

const hammerHead = [
  '',
  'tasks',
  'kills',
  'missing',
  'twice',
  'phantom',
  'READY',
  'ACTIVE',
  'early',
  'disorder',
  'errors',
  'p50/p95/p99/max ms',
]

function hammerRow(result: HammerResult): string[] {
  const { tasks, kills, missing, twice, phantom, leftReady, leftActive, beforeCommit, outOfOrder, errors, latencyMs } = result
  const latency = [latencyMs.p50, latencyMs.p95, latencyMs.p99, latencyMs.max].map((each) => each.toFixed(1)).join(' / ')
  const counts = [tasks, kills, missing, twice, phantom, leftReady, leftActive, beforeCommit, outOfOrder, errors.length]
  return [result.layout, ...counts.map(String), latency]
}

const hammered: Measure = async (server, quick) => {
  const rows: string[][] = []
  for (const layout of layouts) rows.push(hammerRow(await hammer(server.connection, layout, quick ? 6 : 15)))
  return { title: 'Hammer: 4 producers, 4 consumers that are killed, then 1 consumer for the order', head: hammerHead, rows }
}

const mutantsOf: Measure = async (server, quick) => {
  const rows: string[][] = []
  for (const layout of [findLayout('hot-riding'), findLayout('taskstream'), ...mutants]) {
    const started = performance.now()
    const caught: string[] = []
    for (const name of Object.keys(scenarios)) {
      const outcome = await play(server, name, layout)
      if (outcome) caught.push(`${name}: ${outcome}`)
    }
    const played = performance.now()
    const result = await hammer(server.connection, layout, quick ? 3 : 6)
    const seconds = [played - started, performance.now() - played].map((ms) => (ms / 1000).toFixed(1)).join(' + ')
    const { missing, twice, leftReady, leftActive, outOfOrder } = result
    const hammerText = isClean(result)
      ? 'clean'
      : `missing ${missing}, twice ${twice}, READY ${leftReady}, ACTIVE ${leftActive}, disorder ${outOfOrder}, errors ${result.errors.length}`
    rows.push([layout.name, caught.join('\n') || 'clean', hammerText, seconds])
  }
  return { title: 'C without one of its guards', head: ['', 'scenarios', 'hammer', 's'], rows }
}

export const sections: Readonly<Record<string, Measure>> = {
  hammer: hammered,
  mutants: mutantsOf,
  drain,
  disturbed,
  history,
  columns,
}
