import { checkNames, thresholds } from '../core/thresholds.ts'
import { inWords } from '../core/units.ts'
import { checks } from './checks.ts'

/** The table of all checks, in Markdown, for docs/guides/doctor.md. */
export function checksTable(): string {
  const rows = checkNames.map((name) => {
    const { where, measures, remedy, page } = checks[name]
    return `| \`${name}\` | ${where} | ${measures} | ${inWords(thresholds[name])} | ${remedyOf(remedy)} ([page](${linkTo(page)})) |`
  })
  return ['| check | on | what is measured | threshold | what to do |', '| --- | --- | --- | --- | --- |', ...rows, ''].join('\n')
}

/** Columns of a finding are left out: the statement is printed with the finding. */
function remedyOf(text: string): string {
  return text.replaceAll('{remedy}', 'the statement that is printed').replaceAll(/ ?@?\{\w+\}/g, ' …')
}

function linkTo(page: string): string {
  return page.startsWith('guides/') ? page.slice('guides/'.length) : `../${page}`
}
