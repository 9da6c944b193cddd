/** The rooms of each package, and which of them may import from which: only from a lower floor. */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'

const packages = join(import.meta.dirname, '..', '..', 'packages')

/** From the lowest floor up. `.` is what stands beside the rooms: the entry and what users are given. */
const floors: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'task-api': [['.']],
  'task-cli': [['core'], ['commands'], ['.']],
  'task-processor': [['core'], ['batches', 'handlers', 'liveness', 'submit'], ['pipelines', 'polling'], ['worker'], ['.']],
  'task-scheduler': [['periodic', 'clock-jobs'], ['persisted-clock-jobs'], ['.']],
  'task-sql': [
    ['core'],
    ['verbs', 'verbs/periodic', 'dialects/shared'],
    ['dialects/*'],
    ['drivers/shared'],
    ['drivers/*'],
    ['.'],
  ],
  'task-testing': [['.'], ['suite']],
  'task-timers': [['core', 'zones'], ['cron'], ['calendar-event'], ['.']],
}

export interface Import {
  readonly package: string
  readonly from: string
  readonly to: string
}

/** Between rooms, of every package, with those that run upwards or between rooms of one floor. */
export function importsOf(name: string): { readonly between: readonly Import[]; readonly upward: readonly Import[] } {
  const src = join(packages, name, 'src')
  const between = globSync('**/*.ts', { cwd: src }).flatMap((file) => {
    const text = readFileSync(join(src, file), 'utf8')
    // The entry only names what there is.
    if (file === 'index.ts') return []
    return [...text.matchAll(/\bfrom '(\.[^']+)'/g)].map(([, path]) => ({
      package: name,
      from: file,
      to: relative(src, resolve(src, dirname(file), path!)),
    }))
  })
  const others = between.filter(({ from, to }) => roomOf(from) !== roomOf(to))
  return { between: others, upward: others.filter(({ from, to }) => floorOf(name, to) >= floorOf(name, from)) }
}

export const packageNames: readonly string[] = Object.keys(floors)

/** The folder of a file: one of an engine or a driver is a room of its own. */
export function roomOf(file: string): string {
  return dirname(file).split(sep).slice(0, 2).join('/')
}

/** @throws Error if there is no such room: a new one has its place among the floors first */
function floorOf(name: string, file: string): number {
  const room = roomOf(file)
  const every = `${room.split('/')[0]}/*`
  const exact = floors[name]!.findIndex((rooms) => rooms.includes(room))
  const floor = exact >= 0 ? exact : floors[name]!.findIndex((rooms) => rooms.includes(every))
  if (floor < 0) throw new Error(`${name} has no room ${room}: give it a floor in test/rooms/rooms.ts`)
  return floor
}

/** Lines of each file of a package, ascending. */
export function sizesOf(name: string): readonly number[] {
  const src = join(packages, name, 'src')
  return globSync('**/*.ts', { cwd: src })
    .map((file) => readFileSync(join(src, file), 'utf8').split('\n').length - 1)
    .toSorted((left, right) => left - right)
}
