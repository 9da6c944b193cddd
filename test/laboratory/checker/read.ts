/** Reads and writes a history as files: one for the setting, and one with a line of JSON for each entry of each kind. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Change, Effect, Event, History, Led, Left, Setting, Timer } from './history.ts'

/** @param folder with `setting.json`, `left.json`, `changes.jsonl`, `effects.jsonl`, `led.jsonl`, `timers.jsonl`, and `*.events.jsonl` of each actor */
export function readHistory(folder: string): History {
  const events = readdirSync(folder)
    .filter((name) => name.endsWith('.events.jsonl'))
    .flatMap((name) => linesOf<Event>(folder, name))
    .toSorted((one, other) => one.at - other.at)
  return {
    setting: JSON.parse(readFileSync(join(folder, 'setting.json'), 'utf8')) as Setting,
    left: JSON.parse(readFileSync(join(folder, 'left.json'), 'utf8')) as Left,
    events,
    changes: linesOf<Change>(folder, 'changes.jsonl'),
    effects: linesOf<Effect>(folder, 'effects.jsonl'),
    led: linesOf<Led>(folder, 'led.jsonl'),
    timers: linesOf<Timer>(folder, 'timers.jsonl'),
  }
}

export function writeHistory(folder: string, { setting, left, events, changes, effects, led, timers }: History): void {
  writeFileSync(join(folder, 'setting.json'), JSON.stringify(setting))
  writeFileSync(join(folder, 'left.json'), JSON.stringify(left))
  const kinds = { 'all.events': events, changes, effects, led, timers }
  for (const [name, entries] of Object.entries(kinds))
    writeFileSync(join(folder, `${name}.jsonl`), entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''))
}

function linesOf<Entry>(folder: string, name: string): Entry[] {
  const lines = readFileSync(join(folder, name), 'utf8').split('\n')
  // A process that was killed may have left half a line at the end.
  return lines.flatMap((line, position) => {
    try {
      return line === '' ? [] : [JSON.parse(line) as Entry]
    } catch (error) {
      if (position === lines.length - 1) return []
      throw new Error(`${name}, line ${position + 1}, is no JSON`, { cause: error })
    }
  })
}
