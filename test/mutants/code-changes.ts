/** The changes to TypeScript by the kind of a node: boundaries, conditions, literals, calls and results. */
import ts from 'typescript-5.9'
import type { Change } from './mutant.ts'
import { sqlChanges } from './sql-changes.ts'

/** A text that replaces the whole node. */
type Instead = readonly [operator: string, replacement: string]

const boundaries: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' }
const opposites: Readonly<Record<string, string>> = { '===': '!==', '!==': '===', '==': '!=', '!=': '==', '&&': '||', '||': '&&' }
const arithmetic: Readonly<Record<string, string>> = { '+': '-', '-': '+', '*': '/', '/': '*', '%': '*' }
const assignments: Readonly<Record<string, string>> = { '+=': '-=', '-=': '+=', '*=': '/=', '??=': '=', '||=': '=', '&&=': '=' }
const otherMethods: Readonly<Record<string, string>> = {
  some: 'every',
  every: 'some',
  min: 'max',
  max: 'min',
  floor: 'ceil',
  ceil: 'floor',
  startsWith: 'endsWith',
  endsWith: 'startsWith',
  push: 'unshift',
}
const leftOut = new Set([
  'filter',
  'slice',
  'toSorted',
  'sort',
  'toReversed',
  'reverse',
  'trim',
  'trimEnd',
  'toLowerCase',
  'flat',
])

/** Returns the changes of one expression. Each replaces one piece of it and leaves the rest. */
export function expressionChanges(node: ts.Node, file: ts.SourceFile): Change[] {
  const instead = (options: readonly Instead[]): Change[] =>
    options.map(([operator, replacement]) => ({ operator, replacement, start: node.getStart(file), end: node.end }))
  const token = (part: ts.Node, operator: string, replacement: string): Change[] => [
    { operator, replacement, start: part.getStart(file), end: part.end },
  ]
  const text = node.getText(file)
  if (isCondition(node)) {
    const loop = !ts.isIfStatement(node.parent) && !ts.isConditionalExpression(node.parent)
    const whole = instead(
      loop
        ? [['condition', 'false']]
        : [
            ['condition', 'true'],
            ['condition', 'false'],
          ],
    )
    return [...whole, ...expressionPart(true)]
  }
  return expressionPart(false)

  /** In a condition, `===` and `!` are not changed: replacing the whole condition by true and by false tests as much. */
  function expressionPart(asCondition: boolean): Change[] {
    if (ts.isBinaryExpression(node)) {
      const operator = node.operatorToken.getText(file)
      const sign = (name: string, table: Readonly<Record<string, string>>): Change[] =>
        table[operator] === undefined ? [] : token(node.operatorToken, name, table[operator])
      if (boundaries[operator]) return sign('boundary', boundaries)
      if (operator === '&&' || operator === '||') return sign('logic', opposites)
      if (opposites[operator]) return asCondition ? [] : sign('equality', opposites)
      if (operator === '??')
        return instead([
          ['nullish', node.left.getText(file)],
          ['nullish', node.right.getText(file)],
        ])
      if (arithmetic[operator]) return isText(node.left) || isText(node.right) ? [] : sign('arithmetic', arithmetic)
      return sign('assignment', assignments)
    }
    if (ts.isPrefixUnaryExpression(node)) {
      if (node.operator === ts.SyntaxKind.ExclamationToken) return asCondition ? [] : instead([['negation', `!${text}`]])
      if (node.operator === ts.SyntaxKind.MinusToken) return instead([['arithmetic', node.operand.getText(file)]])
      return []
    }
    if (node.kind === ts.SyntaxKind.TrueKeyword) return isOfName(node) ? [] : instead([['literal', 'false']])
    if (node.kind === ts.SyntaxKind.FalseKeyword) return instead([['literal', 'true']])
    if (ts.isNumericLiteral(node)) return instead([['number', numberBeside(text)]])
    if (isSqlText(node)) return sqlChanges(text.slice(1, -1), node.getStart(file) + 1)
    if (ts.isTaggedTemplateExpression(node)) {
      if (node.tag.getText(file) !== 'sql') return []
      return sqlChanges(node.template.getText(file).slice(1, -1), node.template.getStart(file) + 1)
    }
    // Strings that are compared are not changed, because the changed comparison stands for them.
    if (isLockMode(node)) return instead([['lock', node.text === 'skip' ? "'wait'" : "'skip'"]])
    if (ts.isStringLiteral(node))
      return isSaid(node) || isCompared(node) ? [] : instead([['string', text === "''" ? "'mutant'" : "''"]])
    if (ts.isArrayLiteralExpression(node)) return node.elements.length > 0 ? instead([['array', '[]']]) : []
    if (ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node) || ts.isCallExpression(node)) return chained()
    return []
  }

  function chained(): Change[] {
    const changes: Change[] = []
    if (ts.isPropertyAccessChain(node) || ts.isElementAccessChain(node) || ts.isCallChain(node)) {
      const { questionDotToken: mark } = node
      if (mark) changes.push(...token(mark, 'optional', ts.isPropertyAccessChain(node) ? '.' : ''))
    }
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const { name, expression: receiver } = node.expression
      if (Object.hasOwn(otherMethods, name.text)) changes.push(...token(name, 'method', otherMethods[name.text]!))
      if (leftOut.has(name.text)) changes.push(...instead([['method', receiver.getText(file)]]))
    }
    return changes
  }
}

/** Returns the changes of a statement's expression, of a returned value and of an iterated value. */
export function roleChanges(node: ts.Node, file: ts.SourceFile): Change[] {
  const { parent } = node
  const whole = (operator: string, replacement: string): Change[] => [
    { operator, replacement, start: node.getStart(file), end: node.end },
  ]
  if (ts.isExpressionStatement(parent)) {
    const called = ts.isAwaitExpression(node) || ts.isVoidExpression(node) ? node.expression : node
    const isSuper = ts.isCallExpression(called) && called.expression.kind === ts.SyntaxKind.SuperKeyword
    const does =
      ts.isCallExpression(called) || ts.isYieldExpression(called) || isAssignment(called) || ts.isDeleteExpression(called)
    return does && !isSuper ? whole('statement', 'undefined') : []
  }
  if (ts.isReturnStatement(parent) || (ts.isArrowFunction(parent) && parent.body === node)) {
    const inner = ts.isParenthesizedExpression(node) ? node.expression : node
    // Literals are changed as expressions already.
    const trivial =
      ts.isNumericLiteral(inner) ||
      ['undefined', 'null', '[]', '{}', 'true', 'false'].includes(inner.getText(file)) ||
      ts.isArrayLiteralExpression(inner)
    return ts.isBlock(node) || trivial ? [] : whole('result', 'undefined')
  }
  if (ts.isForOfStatement(parent) && parent.expression === node) return whole('loop', '[]')
  return []
}

function isCondition(node: ts.Node): boolean {
  const { parent } = node
  if (ts.isIfStatement(parent) || ts.isWhileStatement(parent) || ts.isDoStatement(parent)) return parent.expression === node
  return (ts.isConditionalExpression(parent) || ts.isForStatement(parent)) && parent.condition === node
}

function isAssignment(node: ts.Node): boolean {
  return ts.isBinaryExpression(node) && /^(?:[-+*/]|\?\?|\|\||&&)?=$/.test(node.operatorToken.getText())
}

function isText(node: ts.Node): boolean {
  if (ts.isBinaryExpression(node)) return isText(node.left) || isText(node.right)
  return ts.isStringLiteral(node) || ts.isTemplateLiteral(node)
}

function isCompared({ parent }: ts.Node): boolean {
  return ts.isBinaryExpression(parent) && /^[!=]==$/.test(parent.operatorToken.getText())
}

/** Whether the text is that of `raw('…')`. */
function isSqlText(node: ts.Node): node is ts.StringLiteral | ts.TemplateLiteral {
  const { parent } = node
  return (
    (ts.isStringLiteral(node) || ts.isTemplateLiteral(node)) &&
    ts.isCallExpression(parent) &&
    parent.expression.getText() === 'raw'
  )
}

/** Whether the text is a lock mode. Any text but `skip` means to wait, so a lock mode is replaced by the other one. */
export function isLockMode(node: ts.Node): node is ts.StringLiteral {
  return ts.isStringLiteral(node) && (node.text === 'skip' || node.text === 'wait') && !isCompared(node)
}

/** Whether the text is part of an error's message, which tests need not check word by word. */
function isSaid(node: ts.Node): boolean {
  for (let at = node.parent; at && !ts.isBlock(at); at = at.parent) {
    if (ts.isThrowStatement(at)) return true
    if (ts.isNewExpression(at) && at.expression.getText().endsWith('Error')) return true
    if (ts.isCallExpression(at) && /^(?:invalid|check\w*|optionNames)$/.test(at.expression.getText())) return true
    if (ts.isFunctionLike(at)) return false
  }
  return false
}

/** Whether the value is the `true` of a set of names, `Record<…, true>`. Nobody reads it, and it cannot be another. */
function isOfName({ parent }: ts.Node): boolean {
  if (!ts.isPropertyAssignment(parent)) return false
  const { parent: whole } = parent.parent
  if (ts.isCallExpression(whole)) return /^(?:optionNames|checkNames)$/.test(whole.expression.getText())
  return ts.isVariableDeclaration(whole) && /\btrue>+$/.test(whole.type?.getText() ?? '')
}

function numberBeside(text: string): string {
  const value = Number(text.replaceAll('_', ''))
  return value === 1 ? '0' : String(value + 1)
}
