/** Links of the markdown as the site has them: what leads out of the pages leads to the repository, or is text while that has no address. */
import { posix } from 'node:path'

/** Where the repository can be read, such as `https://example.org/taskstream/blob/main/`. It is not published yet. */
export const repository: string | undefined = undefined

interface Token {
  type: string
  tag: string
  content: string
  children: Token[] | null
  attrGet(name: string): string | null
  attrSet(name: string, value: string): void
}

interface MarkdownIt {
  readonly core: {
    readonly ruler: { push(name: string, rule: (state: { tokens: Token[]; env: { relativePath?: string } }) => void): void }
  }
}

/** @returns the name of a heading, as code-hosting pages make it: the links of the documents lead to both */
export function slugOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-')
}

/** @returns where a link out of the pages leads to in the repository, or undefined for one within them or to elsewhere */
export function outside(page: string, href: string): string | undefined {
  if (/^([a-z]+:|#|\/)/i.test(href)) return undefined
  const path = posix.join('docs', posix.dirname(page), href.replace(/[?#].*$/s, ''))
  return path.startsWith('docs/') ? undefined : path
}

/** Makes an empty cell of a table's head a cell without a meaning: a screen reader would read out a heading that is none. */
function headCell(tokens: readonly Token[], index: number): void {
  const [open, text, close] = tokens.slice(index, index + 3)
  if (open?.type !== 'th_open' || text?.content !== '' || close?.type !== 'th_close') return
  open.tag = 'td'
  close.tag = 'td'
}

/** Takes the marks of links to the repository away, and makes tables that are scrolled reachable by keyboard. */
export function siteLinks(address: string | undefined): (markdown: MarkdownIt) => void {
  const visit = (tokens: Token[], page: string): Token[] => {
    const open: boolean[] = []
    return tokens.filter((token, index) => {
      headCell(tokens, index)
      if (token.children) token.children = visit(token.children, page)
      if (token.type === 'table_open') token.attrSet('tabindex', '0')
      if (token.type === 'link_close') return open.pop()
      if (token.type !== 'link_open') return true
      const path = outside(page, token.attrGet('href') ?? '')
      if (path !== undefined && address !== undefined) token.attrSet('href', address + path)
      const kept = path === undefined || address !== undefined
      open.push(kept)
      return kept
    })
  }
  return (markdown) =>
    markdown.core.ruler.push('links-of-the-site', (state) => {
      state.tokens = visit(state.tokens, state.env.relativePath ?? 'index.md')
    })
}
