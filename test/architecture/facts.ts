// Facts: what the architecture rules need to know about one source file. What is allowed is the rules'. Every
// way to reach another module is an import: static, dynamic, re-export, `import type`, `import('…').T`,
// `require`. A use of a watched global is found under its own name, through `globalThis`, by destructuring
// and by import from `node:…`.
import { parseAst } from 'vitest/node'

export interface Located {
  readonly line: number
}

export interface Import extends Located {
  /** `null`: computed, so nobody can say what it reaches. */
  readonly specifier: string | null
  /** What it takes, by the names that the other module exports; `*`: all, or what only running it tells. */
  readonly names: readonly string[]
  /** The same without types; `*` also if the other module is only run. Empty: it takes types alone. */
  readonly values: readonly string[]
}

/** A name that other modules can import. */
export interface Export extends Located {
  readonly name: string
  readonly kind: 'value' | 'type'
  /** For a re-export where it comes from, and its name there; `null`: it is defined here. */
  readonly from: { readonly specifier: string; readonly name: string } | null
}

export interface FunctionSize extends Located {
  /** As it is declared, assigned or keyed; of any other `<callback>`. */
  readonly name: string
  readonly lines: number
}

export interface Use extends Located {
  /**
   * `words of message` where the text of an error is looked into; `process.env`, `Date.now`, `new Date()`,
   * `console.log`, `setTimeout`, `node:crypto.randomUUID`, …
   */
  readonly name: string
}

export interface Text extends Located {
  /** A string literal, or a template with `${…}` for what is filled in. */
  readonly text: string
}

export interface Facts {
  /** From the root of the repository, with `/`. */
  readonly path: string
  readonly lines: number
  readonly imports: readonly Import[]
  readonly uses: readonly Use[]
  readonly texts: readonly Text[]
  readonly exports: readonly Export[]
  readonly functions: readonly FunctionSize[]
  /** Ways around the types: `any`, `as never`, `as unknown as`, `@ts-…`. */
  readonly escapes: readonly Use[]
}

type Node = { readonly type: string; readonly start: number; readonly end: number } & Readonly<
  Record<string, unknown>
>

const timers = new Set(['setTimeout', 'setInterval', 'setImmediate'])
const watchedObjects = new Set([
  'Buffer',
  'AbortSignal',
  'process',
  'console',
  'Date',
  'Math',
  'performance',
  'crypto',
  'Temporal',
])
const tsComment = /@ts-(?:ignore|expect-error|nocheck)/g

/** @param path decides what the rules say about the file; the file need not exist */
export function factsOf(path: string, text: string): Facts {
  const imports: Import[] = []
  const exports: Export[] = []
  const functions: FunctionSize[] = []
  const uses: Use[] = []
  const texts: Text[] = []
  const escapes: Use[] = []
  const quoted: Node[] = []
  const lineStarts = startsOf(text)
  const lineAt = (node: Node): number => lineNumber(lineStarts, node.start)

  const enter = (node: Node, parent: Node | null): void => {
    const line = lineAt(node)
    if (functionTypes.has(node.type) && isNode(node['body']))
      functions.push({
        line,
        name: functionName(node, parent),
        lines: lineNumber(lineStarts, node.end - 1) - line + 1,
      })
    if (node.type.startsWith('Export')) exports.push(...exportsOf(node).map((each) => ({ line, ...each })))
    switch (node.type) {
      case 'ImportDeclaration':
      case 'ExportAllDeclaration':
      case 'ExportNamedDeclaration':
      case 'ImportExpression':
      case 'TSImportType':
        if (isNode(node['source'])) {
          const specifier = literalOf(node['source'])
          imports.push({ line, specifier, names: namesTaken(node), values: valuesTaken(node) })
          if (specifier !== null && node.type === 'ImportDeclaration')
            uses.push(...namesFrom(specifier, node).map((name) => ({ line, name })))
        }
        break
      case 'CallExpression': {
        const [first] = node['arguments'] as Node[]
        if (nameOf(node['callee']) === 'require')
          imports.push({ line, specifier: literalOf(first), names: ['*'], values: ['*'] })
        const words = wordsLookedInto(node)
        if (words !== null) uses.push({ line, name: `words of ${words}` })
        if (nameOf(node['callee']) === 'Date') uses.push({ line, name: 'Date()' })
        break
      }
      case 'NewExpression':
        if (nameOf(node['callee']) === 'Date' && (node['arguments'] as Node[]).length === 0)
          uses.push({ line, name: 'new Date()' })
        break
      case 'MemberExpression': {
        const object = nameOf(node['object'])
        const property = propertyOf(node)
        if (object !== null && watchedObjects.has(object))
          uses.push({ line, name: `${object}.${property ?? '*'}` })
        if (object === 'globalThis' && property !== null && timers.has(property))
          uses.push({ line, name: property })
        break
      }
      case 'VariableDeclarator': {
        const object = nameOf(node['init'])
        const pattern = node['id'] as Node
        if (object === null || !watchedObjects.has(object)) break
        if (pattern.type !== 'ObjectPattern') uses.push({ line, name: `${object}.*` })
        else
          for (const each of pattern['properties'] as Node[])
            uses.push({ line, name: `${object}.${nameOf(each['key']) ?? '*'}` })
        break
      }
      case 'Identifier':
        if (timers.has(node['name'] as string) && parent !== null && !isName(node, parent))
          uses.push({ line, name: node['name'] as string })
        break
      case 'Literal':
        quoted.push(node)
        if (typeof node['value'] === 'string') texts.push({ line, text: node['value'] })
        break
      case 'TemplateLiteral':
        quoted.push(node)
        texts.push({
          line,
          text: (node['quasis'] as { value: { raw: string } }[]).map((quasi) => quasi.value.raw).join('${…}'),
        })
        break
      case 'TSAnyKeyword':
        escapes.push({ line, name: 'any' })
        break
      case 'TSAsExpression':
        if (typeOf(node) === 'TSNeverKeyword') escapes.push({ line, name: 'as never' })
        if (
          isNode(node['expression']) &&
          node['expression'].type === 'TSAsExpression' &&
          typeOf(node['expression']) === 'TSUnknownKeyword'
        )
          escapes.push({ line, name: 'as unknown as' })
        break
    }
  }
  visit(
    parseAst(text, {
      lang: path.endsWith('.tsx') ? 'tsx' : path.endsWith('.ts') ? 'ts' : 'js',
    }) as unknown as Node,
    null,
    enter,
  )
  for (const { 0: name, index } of text.matchAll(tsComment)) {
    if (!quoted.some(({ start, end }) => start <= index && index < end))
      escapes.push({ line: lineNumber(lineStarts, index), name })
  }
  return {
    path,
    lines: text.split('\n').length - (text.endsWith('\n') ? 1 : 0),
    imports,
    uses,
    texts,
    exports,
    functions,
    escapes,
  }
}

function visit(node: Node, parent: Node | null, enter: (node: Node, parent: Node | null) => void): void {
  enter(node, parent)
  for (const value of Object.values(node)) {
    for (const each of Array.isArray(value) ? (value as unknown[]) : [value])
      if (isNode(each)) visit(each, node, enter)
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}

const errorTexts = new Set(['message', 'reason', 'stderr', 'messageOf'])
const asksPattern = new Set(['test', 'exec'])
const asksText = new Set(['includes', 'startsWith', 'endsWith', 'match', 'matchAll', 'search', 'indexOf'])

/** The text of an error that a call looks for words in, by its name; `null`: it does not. */
function wordsLookedInto(call: Node): string | null {
  const callee = call['callee']
  if (!isNode(callee) || callee.type !== 'MemberExpression') return null
  const method = propertyOf(callee) ?? ''
  const [first] = call['arguments'] as Node[]
  const text = asksText.has(method)
    ? textOf(callee['object'])
    : asksPattern.has(method)
      ? textOf(first)
      : null
  return text !== null && errorTexts.has(text) ? text : null
}

/**
 * The last name of an expression: of `error.message` it is `message`, of `messageOf(error)` it is
 * `messageOf`.
 */
function textOf(node: unknown): string | null {
  if (!isNode(node)) return null
  if (node.type === 'CallExpression') return textOf(node['callee'])
  return node.type === 'MemberExpression' ? propertyOf(node) : nameOf(node)
}

const functionTypes = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])

/** What an import, a re-export or an `import('…')` takes. */
function namesTaken(node: Node): string[] {
  switch (node.type) {
    case 'ImportDeclaration':
      return (node['specifiers'] as Node[]).map((each) =>
        each.type === 'ImportSpecifier'
          ? (textName(each['imported']) ?? '*')
          : each.type === 'ImportDefaultSpecifier'
            ? 'default'
            : '*',
      )
    case 'ExportNamedDeclaration':
      return (node['specifiers'] as Node[]).map((each) => textName(each['local']) ?? '*')
    case 'TSImportType':
      return [textName(node['qualifier']) ?? '*']
    default:
      return ['*']
  }
}

/** The names of `namesTaken` that are there at run time. */
function valuesTaken(node: Node): string[] {
  const isType = (each: Node): boolean => each['importKind'] === 'type' || each['exportKind'] === 'type'
  if (node.type === 'TSImportType' || isType(node)) return []
  const listed = node['specifiers'] as Node[] | undefined
  if (listed === undefined || (node.type === 'ImportDeclaration' && listed.length === 0)) return ['*']
  return namesTaken({ ...node, specifiers: listed.filter((each) => !isType(each)) })
}

/** The names a declaration or a list of exports makes known. */
function exportsOf(node: Node): Omit<Export, 'line'>[] {
  if (node.type === 'ExportDefaultDeclaration') return [{ name: 'default', kind: 'value', from: null }]
  if (node.type !== 'ExportNamedDeclaration') return []
  const specifier = literalOf(node['source'])
  const listed = (node['specifiers'] as Node[]).map((each): Omit<Export, 'line'> => ({
    name: textName(each['exported']) ?? '*',
    kind: node['exportKind'] === 'type' || each['exportKind'] === 'type' ? 'type' : 'value',
    from: specifier === null ? null : { specifier, name: textName(each['local']) ?? '*' },
  }))
  const declaration = node['declaration']
  if (!isNode(declaration)) return listed
  const declared =
    declaration.type === 'VariableDeclaration'
      ? (declaration['declarations'] as Node[]).map((each) => each['id'])
      : [declaration['id']]
  const kind = declaration.type.startsWith('TS') ? 'type' : 'value'
  return declared.flatMap((each) => namesIn(each).map((name) => ({ name, kind, from: null })))
}

/** The names a declared identifier or pattern binds. */
function namesIn(node: unknown): string[] {
  const name = nameOf(node)
  if (name !== null) return [name]
  if (!isNode(node)) return []
  const parts =
    node.type === 'ObjectPattern'
      ? (node['properties'] as Node[]).map((each) => each['value'])
      : node.type === 'ArrayPattern'
        ? (node['elements'] as unknown[])
        : []
  return parts.flatMap(namesIn)
}

function functionName(node: Node, parent: Node | null): string {
  const own = nameOf(node['id'])
  if (own !== null || parent === null) return own ?? '<callback>'
  if (parent.type === 'VariableDeclarator') return nameOf(parent['id']) ?? '<callback>'
  return ['MethodDefinition', 'Property', 'PropertyDefinition'].includes(parent.type)
    ? (textName(parent['key']) ?? '<callback>')
    : '<callback>'
}

/** Of an identifier, a private name or a quoted name. */
function textName(node: unknown): string | null {
  if (!isNode(node)) return null
  if (node.type === 'PrivateIdentifier') return `#${node['name'] as string}`
  return nameOf(node) ?? literalOf(node)
}

/** What an import takes from a Node.js module, as the use it is. */
function namesFrom(specifier: string, node: Node): string[] {
  if (!specifier.startsWith('node:') || node['importKind'] === 'type') return []
  const of = specifier === 'node:process' ? 'process' : specifier
  return (node['specifiers'] as Node[]).map(
    (each) => `${of}.${each.type === 'ImportSpecifier' ? (nameOf(each['imported']) ?? '*') : '*'}`,
  )
}

/** The identifier is a name being given, not a value being used. */
function isName(node: Node, parent: Node): boolean {
  switch (parent.type) {
    case 'MemberExpression':
      return parent['property'] === node && parent['computed'] === false
    case 'Property':
    case 'MethodDefinition':
    case 'PropertyDefinition':
    case 'TSPropertySignature':
    case 'TSMethodSignature':
      return parent['key'] === node && parent['computed'] !== true && parent['shorthand'] !== true
    case 'ImportSpecifier':
      return true
    default:
      return false
  }
}

function nameOf(node: unknown): string | null {
  return isNode(node) && node.type === 'Identifier' ? (node['name'] as string) : null
}

function literalOf(node: unknown): string | null {
  return isNode(node) && node.type === 'Literal' && typeof node['value'] === 'string' ? node['value'] : null
}

function propertyOf(node: Node): string | null {
  return node['computed'] === true ? literalOf(node['property']) : nameOf(node['property'])
}

function typeOf(node: Node): string | null {
  return isNode(node['typeAnnotation']) ? node['typeAnnotation'].type : null
}

function startsOf(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

function lineNumber(starts: readonly number[], offset: number): number {
  return starts.findLastIndex((start) => start <= offset) + 1
}
