/** The rooms of each package. A room may import only from rooms on a lower floor. */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'

const packages = join(import.meta.dirname, '..', '..', 'packages')

/** The rooms of each floor, from the lowest up. `.` holds the files beside the rooms: the entry and the parts for users. */
const floors: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'task-api': [['.']],
  'task-coordination': [['.'], ['entries']],
  'task-cli': [['output'], ['core'], ['console', 'origins', 'work'], ['commands'], ['.']],
  'task-operations': [['core'], ['actions', 'doctor'], ['inspection'], ['.']],
  'task-console': [['core'], ['api'], ['pages'], ['.']],
  'task-jobs': [['definitions'], ['signatures'], ['jobs'], ['handling'], ['external'], ['.']],
  'task-processor': [['core'], ['batches', 'handlers', 'liveness', 'submit'], ['pipelines', 'polling'], ['worker'], ['.']],
  'task-scheduler': [['periodic', 'clock-jobs'], ['persisted-clock-jobs'], ['.']],
  'task-sql': [
    ['core'],
    ['verbs', 'verbs/periodic', 'verbs/coordination', 'dialects/shared'],
    ['verbs/examination'],
    ['dialects/*'],
    ['drivers/shared'],
    ['drivers/*'],
    ['.'],
  ],
  'task-telemetry': [['core'], ['metrics'], ['prometheus', 'spans', 'grafana'], ['.']],
  'task-testing': [['.'], ['suite']],
  taskstream: [['.'], ['asyncjobs', 'entries', 'tasklib']],
  'task-timers': [['core', 'zones'], ['cron'], ['calendar-event'], ['.']],
}

export interface Import {
  readonly package: string
  readonly from: string
  readonly to: string
}

/** The imports between the rooms of a package, and those of them that run upwards or stay on one floor. */
export function importsOf(name: string): { readonly between: readonly Import[]; readonly upward: readonly Import[] } {
  const src = join(packages, name, 'src')
  const between = globSync('**/*.ts', { cwd: src }).flatMap((file) => {
    const text = readFileSync(join(src, file), 'utf8')
    // The entry only re-exports.
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

/** The room of a file. Each engine and each driver is a room of its own. */
export function roomOf(file: string): string {
  return dirname(file).split(sep).slice(0, 2).join('/')
}

/** @throws Error if the room has no floor; a new room is entered in `floors` first */
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
