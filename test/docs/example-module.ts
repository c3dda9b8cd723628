// An example as a module that checks itself: line n of the example is line n + 1 of the module. `expression
// // => value` compares; `const name = … // => value` compares the constant; `statement // throws code`
// awaits a BeaverError of that code. A value may go on in the next lines, each a comment with two spaces
// after its slashes. A claim that the run does not reach fails too. An example uses the exports of its
// package and what example-context.ts exports without importing them.
import { parseAst } from 'vitest/node'
import type { EntryNames } from './public-exports.ts'

type Node = { readonly type: string; readonly start: number; readonly end: number } & Readonly<
  Record<string, unknown>
>

export interface Names {
  /** What the package of the example and its rooms export. */
  readonly entries: readonly EntryNames[]
  readonly context: { readonly from: string; readonly values: ReadonlySet<string> }
  /** The module of `checks`. */
  readonly checks: string
}

interface Claim {
  readonly line: number
  readonly kind: '=>' | 'throws'
  readonly text: string
}

/** @throws {Error} if the example claims nothing, or a claim belongs to no statement */
export function exampleModule(code: string, names: Names): string {
  const statements: Node[] = []
  const used = new Set<string>()
  const declared = new Set<string>()
  const enter = (node: Node): void => {
    if (['ExpressionStatement', 'VariableDeclaration', 'ThrowStatement'].includes(node.type))
      statements.push(node)
    if (node.type === 'Identifier') used.add(nameOf(node))
    if (node.type === 'VariableDeclarator') for (const name of boundIn(node['id'])) declared.add(name)
    if (node.type.startsWith('Import') && 'local' in node) declared.add(nameOf(node['local']))
    if (/Function|Class/.test(node.type)) for (const name of boundIn(node['id'])) declared.add(name)
    for (const parameter of (node['params'] as Node[] | undefined) ?? [])
      for (const name of boundIn(parameter)) declared.add(name)
  }
  for (const node of parsed(code)) visit(node, enter)
  const ofCode = [...statements]

  const claims = claimsOf(code)
  for (const { kind, text } of claims)
    if (kind === '=>') for (const node of parsed(`(${text})`)) visit(node, enter)
  if (claims.length === 0)
    throw new Error('It claims nothing: add a result as `// => value` or `// throws code`.')
  let checked = code
  for (const [index, claim] of [...claims.entries()].toReversed()) {
    const statement = ofCode
      .filter((each) => lineOf(code, each.end) === claim.line)
      .toSorted((a, b) => b.end - a.end)[0]
    if (statement === undefined)
      throw new Error(`The claim in its line ${claim.line} belongs to no statement.`)
    checked =
      checked.slice(0, statement.start) +
      withClaim(code.slice(statement.start, statement.end), statement, claim, index) +
      checked.slice(statement.end)
  }
  const free = [...used].filter((name) => !declared.has(name))
  const fromPackage = names.entries.flatMap(({ from, values, types }) => {
    const taken = free.flatMap((name) => (values.has(name) ? name : types.has(name) ? `type ${name}` : []))
    return taken.length === 0 ? [] : [`import { ${taken.join(', ')} } from '${from}'`]
  })
  const isExported = (name: string): boolean => names.entries.some(({ values }) => values.has(name))
  const fromContext = free.filter((name) => !isExported(name) && names.context.values.has(name))
  const imports = [
    `import { checks as $checks } from '${names.checks}'`,
    ...fromPackage,
    ...(fromContext.length === 0
      ? []
      : [`import { ${fromContext.join(', ')} } from '${names.context.from}'`]),
  ]
  return `${imports.join('; ')}; const $claims = $checks(${claims.length})\n${checked}\n$claims.allReached()\n`
}

/** As a module, which may await. */
const parsed = (code: string): readonly Node[] =>
  (parseAst(`${code}\nexport {}`, { lang: 'ts' }) as unknown as { body: Node[] }).body

function withClaim(text: string, statement: Node, { kind, text: value }: Claim, index: number): string {
  const bare = text.replace(/;$/, '')
  if (kind === 'throws') return `await $claims.throws(${index}, async () => { ${bare} }, '${value}')`
  if (statement.type === 'ExpressionStatement') return `$claims.equal(${index}, ${bare}, (${value}))`
  const [first, ...others] = (statement['declarations'] as Node[] | undefined) ?? []
  const name = nameOf(first?.['id'])
  if (name === '' || others.length > 0)
    throw new Error(`A result can belong to an expression or to one constant, not to: ${text}`)
  return `${bare}; $claims.equal(${index}, ${name}, (${value}))`
}

function claimsOf(code: string): Claim[] {
  const lines = code.split('\n')
  return lines.flatMap((line, index) => {
    const [, kind, first = ''] = /\/\/ (=>|throws) (.*)$/.exec(line) ?? []
    if (kind !== '=>' && kind !== 'throws') return []
    const after = lines.slice(index + 1)
    const end = after.findIndex((each) => !/^\s*\/\/ {2}/.test(each))
    const more = after
      .slice(0, end === -1 ? after.length : end)
      .map((each) => each.replace(/^\s*\/\/\s*/, ''))
    return { line: index + 1, kind, text: [first, ...more].join(' ').trim() }
  })
}

function visit(node: Node, enter: (node: Node) => void): void {
  enter(node)
  for (const [key, value] of Object.entries(node)) {
    // A name after a dot and the key of an object are names of members.
    if (node['computed'] === false && (key === 'property' || (key === 'key' && node['shorthand'] !== true)))
      continue
    for (const each of Array.isArray(value) ? (value as unknown[]) : [value])
      if (isNode(each)) visit(each, enter)
  }
}

function boundIn(node: unknown): string[] {
  if (!isNode(node)) return []
  switch (node.type) {
    case 'ObjectPattern':
      return (node['properties'] as Node[]).flatMap((each) => boundIn(each['value'] ?? each['argument']))
    case 'ArrayPattern':
      return (node['elements'] as unknown[]).flatMap(boundIn)
    case 'AssignmentPattern':
      return boundIn(node['left'])
    case 'RestElement':
      return boundIn(node['argument'])
    default:
      return nameOf(node) === '' ? [] : [nameOf(node)]
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}

const nameOf = (node: unknown): string =>
  isNode(node) && node.type === 'Identifier' ? (node['name'] as string) : ''
const lineOf = (text: string, offset: number): number => text.slice(0, offset).split('\n').length
