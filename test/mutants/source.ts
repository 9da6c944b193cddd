/**
 * Puts all mutants of one source into its code. Each stands beside the original behind a question whether it is active, so a
 * process that has loaded the code can become any of them.
 */
import ts from 'typescript-5.9'
import { expressionChanges, isLockMode, roleChanges } from './code-changes.ts'
import { applyMarks } from './marks.ts'
import { keyOf, lineOf } from './mutant.ts'
import type { Change, Mutant } from './mutant.ts'

export interface MutatedSource {
  readonly code: string
  readonly mutants: readonly Mutant[]
  /** The errors of the marks. */
  readonly wrong: readonly string[]
}

/** How a change is put in: in place of an expression, by leaving out an element or a property, or before a body. */
type Place = 'expression' | 'element' | 'property' | 'body'

/** The question in the code: `globalThis.__mutant(17)`. */
const question = 'globalThis.__mutant'

export function mutate(file: string, source: string, firstId = 1): MutatedSource {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true)
  const mutants: Mutant[] = []

  const note = (change: Change): number => {
    const { operator, start, end, replacement } = change
    const id = firstId + mutants.length
    const key = keyOf(file, source, change, mutants)
    mutants.push({ id, file, line: lineOf(source, start), key, operator, start, end, replacement })
    return id
  }

  const render = (node: ts.Node): string => {
    const start = node.getStart(tree)
    if (isNotRun(node)) return source.slice(start, node.end)
    let text = ''
    let at = start
    ts.forEachChild(node, (child) => {
      const from = child.getStart(tree)
      if (from < at) throw new Error(`${file}:${lineOf(source, from)}: the parts of a node are not in order`)
      text += source.slice(at, from) + render(child)
      at = child.end
    })
    text += source.slice(at, node.end)
    for (const place of placesOf(node)) text = put(node, place, text)
    if (!ts.isExpressionStatement(node)) return text
    // Without the semicolon, a bracket at the start would continue the line before.
    return ts.isBlock(node.parent) || ts.isSourceFile(node.parent) || ts.isCaseOrDefaultClause(node.parent)
      ? `;${text}`
      : `{${text}}`
  }

  const put = (node: ts.Node, place: Place, text: string): string => {
    const start = node.getStart(tree)
    const without = (operator: string): number => note({ operator, start, end: node.end, replacement: '' })
    if (place === 'element') return `...(${question}(${without('element')}) ? [] : [${text}])`
    if (place === 'property') return `...(${question}(${without('property')}) ? {} : {${text}})`
    if (place === 'body') return `{if (${question}(${without('body')})) return;${text.slice(1)}`
    const changes = [...expressionChanges(node, tree), ...roleChanges(node, tree)]
    if (changes.length === 0) return text
    const others = changes.map((change) => {
      const instead = source.slice(start, change.start) + change.replacement + source.slice(change.end, node.end)
      // The zero keeps a bracket before a colon from being parsed as the parameters of a function.
      return `${question}(${note(change)}) ? (0, ${instead}) : `
    })
    return `(${others.join('')}(${text}))`
  }

  const code = render(tree)
  return { code: source.slice(0, tree.getStart(tree)) + code, mutants, wrong: applyMarks(file, source, mutants) }
}

/** Types, names and imports have no effect at run time. */
function isNotRun(node: ts.Node): boolean {
  return (
    ts.isTypeNode(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isImportDeclaration(node) ||
    ts.isExportDeclaration(node) ||
    ts.isTypeParameterDeclaration(node)
  )
}

function placesOf(node: ts.Node): Place[] {
  const { parent } = node
  if (!parent) return []
  if (ts.isBlock(node)) return isBody(node) ? ['body'] : []
  if (ts.isObjectLiteralElementLike(node)) {
    if (ts.isPropertyAssignment(node) && isLockMode(node.initializer)) return []
    return ts.isObjectLiteralExpression(parent) && !ts.isAccessor(node) && !isTarget(parent) ? ['property'] : []
  }
  if (!ts.isExpression(node) || !mayStandElsewhere(node)) return []
  const listed =
    ts.isArrayLiteralExpression(parent) && parent.elements.length > 1 && !ts.isOmittedExpression(node) && !isTarget(parent)
  // A spread element can only be left out, because its dots have to stay in front.
  if (ts.isSpreadElement(node)) return listed ? ['element'] : []
  return listed ? ['expression', 'element'] : ['expression']
}

/** Whether the body has several statements, or one that returns nothing. */
function isBody({ parent, statements: [first, ...others] }: ts.Block): boolean {
  if (!ts.isFunctionLike(parent) || ts.isConstructorDeclaration(parent) || !first) return false
  return others.length > 0 || !(ts.isReturnStatement(first) || ts.isExpressionStatement(first))
}

/** Whether an expression may be replaced by one in brackets. */
function mayStandElsewhere(node: ts.Expression): boolean {
  const { parent } = node
  if (ts.isTaggedTemplateExpression(parent) || ts.isExpressionWithTypeArguments(parent)) return false
  if (ts.isCallExpression(parent) || ts.isNewExpression(parent)) {
    if (parent.expression === node) return false
    if (parent.expression.kind === ts.SyntaxKind.ImportKeyword) return false
  }
  if (ts.isPropertyAccessExpression(parent) || ts.isElementAccessExpression(parent) || ts.isNonNullExpression(parent)) {
    if (parent.expression === node && (ts.isOptionalChain(node) || node.kind === ts.SyntaxKind.SuperKeyword)) return false
  }
  if (ts.isPostfixUnaryExpression(parent) || ts.isDeleteExpression(parent)) return false
  if (
    ts.isPrefixUnaryExpression(parent) &&
    (parent.operator === ts.SyntaxKind.PlusPlusToken || parent.operator === ts.SyntaxKind.MinusMinusToken)
  )
    return false
  if (ts.isPropertyAssignment(parent) || ts.isPropertyDeclaration(parent) || ts.isMethodDeclaration(parent)) {
    if (parent.name === node) return false
  }
  if (ts.isBindingElement(parent) && parent.propertyName === node) return false
  return !isTarget(node)
}

/** Whether an expression is assigned to. */
function isTarget(node: ts.Node): boolean {
  const { parent } = node
  if (ts.isForOfStatement(parent)) return parent.initializer === node
  if (ts.isArrayLiteralExpression(parent) || ts.isObjectLiteralElementLike(parent) || ts.isObjectLiteralExpression(parent))
    return isTarget(parent)
  if (!ts.isBinaryExpression(parent) || parent.left !== node) return false
  return /^(?:[-+*/%]|\?\?|\|\||&&|<<|>>)?=$/.test(parent.operatorToken.getText())
}
