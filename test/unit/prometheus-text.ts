/** Reads the text that Prometheus reads, and refuses what Prometheus would refuse. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const line = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/
const pair = /([A-Za-z_]\w*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/y

/** @throws Error if a line is none of the format, if a series occurs twice, or if a sample is of another family than the one that was begun */
export function samplesOf(text: string): Sample[] {
  const seen = new Set<string>()
  const samples: Sample[] = []
  const families = new Set<string>()
  let family = ''
  for (const each of text.split('\n')) {
    const [, type] = /^# TYPE (\S+) (?:counter|gauge|histogram)$/.exec(each) ?? []
    if (type !== undefined) {
      if (families.has(type)) throw new Error(`The family ${type} is begun twice`)
      families.add((family = type))
    }
    if (each === '' || /^# (?:HELP|TYPE|UNIT) \S+ .+$/.test(each) || each === '# EOF') continue
    const [, name, labels = '', value] = line.exec(each) ?? []
    if (name === undefined || Number.isNaN(Number(value))) throw new Error(`No sample: ${each}`)
    if (!name.startsWith(family)) throw new Error(`${name} is not of the family ${family}`)
    if (seen.has(`${name}{${labels}}`)) throw new Error(`The series ${name}{${labels}} occurs twice`)
    seen.add(`${name}{${labels}}`)
    samples.push({ name, labels: labelsOf(labels), value: Number(value) })
  }
  return samples
}

function labelsOf(text: string): Record<string, string> {
  const labels: Record<string, string> = {}
  pair.lastIndex = 0
  while (pair.lastIndex < text.length) {
    const [, name, value] = pair.exec(text) ?? []
    if (name === undefined) throw new Error(`No labels: ${text}`)
    labels[name] = value!.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped))
  }
  return labels
}
