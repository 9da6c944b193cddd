/** Where the last range of a topic ends, or null if there is none. */
export function frontier(topic: string): string {
  return `(select r.hi from task_range r where r.topic = ${topic} order by r.topic desc, r.lo desc limit 1)`
}
