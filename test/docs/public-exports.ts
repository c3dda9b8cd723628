// The public exports of a package: what its entries export (its index, and that of each room), each with its doc comment and the examples in it.
// An export is judged where it is defined; what a package hands on belongs to the package that defines it.
// What comes from outside the workspace is not ours to document, and is left out.
import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'vitest/node'

export interface Example {
  readonly code: string
  /** Where the example begins. */
  readonly line: number
}

export interface PublicExport {
  /** The package or its room by whose name an example imports it. */
  readonly from: string
  readonly name: string
  /**
   * Functions and classes can be called, so they need an example. `inferred`: a type that is read from the
   * documented schema above it.
   */
  readonly kind: 'function' | 'class' | 'constant' | 'type' | 'inferred'
  readonly path: string
  readonly line: number
  /** The text of the doc comment; empty if there is none. */
  readonly doc: string
  /** In its doc comment, and in those of its members. */
  readonly examples: readonly Example[]
}

type Node = { readonly type: string; readonly start: number; readonly end: number } & Readonly<
  Record<string, unknown>
>

const root = fileURLToPath(new URL('../../', import.meta.url))
/** The index of a package, `core`, or of its room, `core/journal`. */
const indexOf = (entry: string): string => entry.replace(/^[^/]+/, 'packages/$&/src') + '/index.ts'

type Read = (path: string) => string
const readFile: Read = (path) => readFileSync(`${root}${path}`, 'utf8')

/** The package and its rooms, as `indexOf` takes them. */
function entriesOf(folder: string, read: Read): string[] {
  const { exports } = JSON.parse(read(`packages/${folder}/package.json`)) as {
    readonly exports: Readonly<Record<string, string>>
  }
  return Object.entries(exports).flatMap(([key, file]) =>
    file.endsWith('/index.ts') ? posix.join(folder, key) : [],
  )
}

/** @param folders the folders under `packages`, those that others import first */
export function publicExports(folders: readonly string[], read = readFile): PublicExport[] {
  const found = new Map<string, PublicExport>()
  const bodies = new Map<string, { text: string; body: readonly Node[] }>()
  const parsed = (path: string): { text: string; body: readonly Node[] } => {
    const text = bodies.get(path)?.text ?? read(path)
    const known = bodies.get(path) ?? {
      text,
      body: (parseAst(text, { lang: 'ts' }) as unknown as { body: Node[] }).body,
    }
    bodies.set(path, known)
    return known
  }

  const define = (from: string, path: string, name: string): PublicExport | null => {
    const { text, body } = parsed(path)
    for (const node of body.filter(({ type }) => type === 'ExportNamedDeclaration')) {
      const listed = (node['specifiers'] as Node[]).find((each) => nameOf(each['exported']) === name)
      if (listed !== undefined) {
        const next = targetOf(path, node['source'])
        return next === null ? null : define(from, next, nameOf(listed['local']))
      }
      const declared = node['declaration'] as Node | null
      if (declared !== null && namesOf(declared).includes(name)) return describe(from, path, text, name, node)
    }
    throw new Error(`${path} does not export ${name}`)
  }

  for (const entry of folders.flatMap((folder) => entriesOf(folder, read)))
    for (const node of parsed(indexOf(entry)).body.filter(({ type }) => type === 'ExportNamedDeclaration'))
      for (const each of node['specifiers'] as Node[]) {
        const one = define(`@beaver/${entry}`, indexOf(entry), nameOf(each['exported']))
        const key = one === null ? '' : `${one.path}#${one.name}`
        if (one !== null && !found.has(key)) found.set(key, one)
      }
  return [...found.values()]
}

/** What an entry exports. Each type is marked as one, because every file is compiled alone. */
export interface EntryNames {
  readonly from: string
  readonly values: ReadonlySet<string>
  readonly types: ReadonlySet<string>
}

/** All names that programs import from the package and its rooms, with those that it hands on. */
export const importableNames = (folder: string): EntryNames[] =>
  entriesOf(folder, readFile).map((entry) => ({ from: `@beaver/${entry}`, ...namesOfIndex(indexOf(entry)) }))

function namesOfIndex(path: string): Omit<EntryNames, 'from'> {
  const { body } = parseAst(readFile(path), { lang: 'ts' }) as unknown as { body: Node[] }
  const listed = body.flatMap((node) =>
    ((node['specifiers'] as Node[] | undefined) ?? []).map((each) => ({
      name: nameOf(each['exported']),
      node,
      each,
    })),
  )
  const isType = ({ node, each }: { node: Node; each: Node }): boolean =>
    node['exportKind'] === 'type' || each['exportKind'] === 'type'
  return {
    values: new Set(listed.filter((one) => !isType(one)).map(({ name }) => name)),
    types: new Set(listed.filter(isType).map(({ name }) => name)),
  }
}

/** All examples of a source: those that belong to no public export would never run. */
export function examplesIn(text: string): Example[] {
  return [...text.matchAll(/\/\*\*(?:(?!\*\/)[\s\S])*\*\//g)].flatMap(({ 0: comment, index }) =>
    examplesOf(comment, lineOf(text, index)),
  )
}

function describe(from: string, path: string, text: string, name: string, node: Node): PublicExport {
  const [comment = ''] = /\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n$/.exec(text.slice(0, node.start)) ?? []
  const start = node.start - comment.length
  const examples = examplesIn(text.slice(start, node.end)).map(({ code, line }) => ({
    code,
    line: line + lineOf(text, start) - 1,
  }))
  return {
    from,
    name,
    kind: kindOf(node['declaration'] as Node, text),
    path,
    line: lineOf(text, node.start),
    doc: wordsOf(comment),
    examples,
  }
}

/** The words of a doc comment without its stars. */
const wordsOf = (comment: string): string =>
  comment
    .replace(/^\/\*\*|\*\/\s*$/g, '')
    .replace(/^ *\* ?/gm, '')
    .trim()

function examplesOf(comment: string, firstLine: number): Example[] {
  const lines = comment
    .replace(/ *\*\/\s*$/, '')
    .split('\n')
    .map((line) => line.replace(/^ *(?:\/\*\*|\*) ?/, ''))
  const tags = lines.flatMap((line, index) => (/^@\w/.test(line) ? index : []))
  return tags.flatMap((at, index) => {
    if (!lines[at]?.startsWith('@example')) return []
    const [head = '', ...rest] = lines.slice(at, tags[index + 1])
    const first = head.replace(/^@example ?/, '')
    return {
      code: (first === '' ? rest : [first, ...rest]).join('\n').trimEnd(),
      line: firstLine + at + (first === '' ? 1 : 0),
    }
  })
}

function kindOf(declaration: Node, text: string): PublicExport['kind'] {
  switch (declaration.type) {
    case 'FunctionDeclaration':
    case 'TSDeclareFunction':
      return 'function'
    case 'ClassDeclaration':
      return 'class'
    case 'VariableDeclaration': {
      const [first] = declaration['declarations'] as Node[]
      return /Function/.test((first?.['init'] as Node | null)?.type ?? '') ? 'function' : 'constant'
    }
    case 'TSTypeAliasDeclaration':
      return /= z\.infer<typeof \w+>\s*;?$/.test(text.slice(declaration.start, declaration.end))
        ? 'inferred'
        : 'type'
    default:
      return 'type'
  }
}

function namesOf(declaration: Node): string[] {
  return declaration.type === 'VariableDeclaration'
    ? (declaration['declarations'] as Node[]).map((each) => nameOf(each['id']))
    : [nameOf(declaration['id'])]
}

/** The file that an import reaches; `null`: it is outside the workspace. */
function targetOf(path: string, source: unknown): string | null {
  const specifier = (source as { value: string }).value
  if (specifier.startsWith('.')) return posix.join(posix.dirname(path), specifier)
  return specifier.startsWith('@beaver/') ? indexOf(specifier.slice('@beaver/'.length)) : null
}

const nameOf = (node: unknown): string => (node as { name?: string }).name ?? ''
const lineOf = (text: string, offset: number): number => text.slice(0, offset).split('\n').length
