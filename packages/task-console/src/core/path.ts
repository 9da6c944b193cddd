/** Names as parts of a path. A browser takes `.` and `..` out of a path even where they are escaped, so names that begin with a dot begin with `~`. */

/** Writes a name as one part of a path. */
export function segment(name: string): string {
  const escaped = encodeURIComponent(name.toWellFormed())
  return /^[.~]/.test(name) ? `~${escaped}` : escaped
}

/** Reads a name of a path, which is unescaped already. */
export function nameOf(part: string): string {
  return part.startsWith('~') ? part.slice(1) : part
}

/** How a task is named in a path: by its sequence. */
export function taskPath({ topic, sequence }: { readonly topic: string; readonly sequence: number }): string {
  return `topics/${segment(topic)}/tasks/${sequence}`
}
