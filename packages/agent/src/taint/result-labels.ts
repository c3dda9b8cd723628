// The labels of a tool's result, from what the tool declares, the files that the call names or read, what the
// tool tells (`ToolContext.reads`) and the text. The model decides nothing about them. A failed call may
// repeat a stranger's text too; only Beaver's own words have no labels.
import { realpath, stat } from 'node:fs/promises'
import { isAbsolute, join, relative, sep } from 'node:path'
import { cleanTaint, type Taint } from '@beaver/core/taint'
import type { ToolResult } from '../tools/execute-tool.ts'
import { subjectOf } from '../tools/permission.ts'
import type { ReadSource, Tool } from '../tools/tool.ts'
import {
  type EgressRules,
  holdsSecretText,
  isSecretName,
  isSecretPath,
  isUntrustedPath,
  pathsIn,
} from './egress-rules.ts'
import { strangersRepositories } from './repositories.ts'
import { readsOf, sinkOf } from './tool-kind.ts'

/** What a call has read. */
export interface CallReads {
  /** `null`: the arguments cannot be read. */
  readonly args: { readonly value: unknown } | null
  /** The paths that the call names, from `pathsNamed`. */
  readonly named: readonly string[]
  /** What the tool told. */
  readonly told: readonly ReadSource[]
  /** The workspace of the call. */
  readonly workspace: string
}

const privateTaint: Taint = { ...cleanTaint, public: false }

/** Returns `null` if the fold says it: a success is the user's own text, and a failure has read nothing. */
export async function taintOfResult(
  tool: Tool | undefined,
  result: ToolResult,
  { args, named, told, workspace }: CallReads,
  rules: EgressRules,
): Promise<Taint | null> {
  if (tool === undefined || result.ownWords === true) return null
  const reads = args === null ? 'untrusted' : readsOf(tool, args.value)
  const files = told.flatMap((source) => ('files' in source && source.namesOnly !== true ? source.files : []))
  const names = told.flatMap((source) => ('files' in source && source.namesOnly === true ? source.files : []))
  const strangers = told.flatMap((source) => ('stranger' in source ? [source.stranger] : []))
  const texts = [...named, ...files]
  const isStrangers = strangersRepositories(workspace, rules)
  const secret =
    reads === 'secret' ||
    texts.some((path) => isSecretPath(path, rules)) ||
    names.some((path) => isSecretName(path, rules)) ||
    holdsSecretText(result.content)
  const untrusted =
    reads === 'web' ||
    reads === 'untrusted' ||
    (await firstOf([...texts, ...names], (path) => isUntrustedPath(path, rules) || isStrangers(path)))
  const isPublic = reads === 'web' || reads === 'public'
  if (!untrusted && !secret && strangers.length === 0) {
    if (isPublic) return result.success ? cleanTaint : null
    return result.success ? null : privateTaint
  }
  const source = args === null ? tool.name : sourceOf(tool, args.value)
  return {
    untrusted: [...(untrusted ? [source] : []), ...strangers],
    secret: secret ? [source] : [],
    public: isPublic && !secret,
  }
}

async function firstOf<Each>(
  all: readonly Each[],
  holds: (each: Each) => boolean | Promise<boolean>,
): Promise<boolean> {
  for (const each of all) if (await holds(each)) return true
  return false
}

/**
 * The paths that a call would read, as it names them and after all links. A folder ends in `/`. A call that
 * writes or sends does not read what it names. Outside of command lines, a word is a path only if it looks
 * like one.
 */
export async function pathsNamed(tool: Tool, args: unknown, workspace: string): Promise<string[]> {
  const { subjectKind } = tool
  if (tool.pure === true || subjectKind === 'text' || subjectKind === 'url') return []
  const sink = sinkOf(tool)
  if (sink !== null && sink !== 'command') return []
  if (readsOf(tool, args) === 'web') return []
  const subject = shownSubject(tool, args)
  const words =
    sink === 'command'
      ? pathsIn(subject)
      : pathsIn(subject).filter((path) => path === subject || /[./]/.test(path))
  if (words.length === 0) return []
  const options = sink === 'command' ? optionsIn(subject) : new Set<string>()
  const root = await realpath(workspace).catch(() => workspace)
  const found = await Promise.all(
    words.map(async (word) => [word, ...(await placesOf(root, word, options.has(word)))]),
  )
  return [...new Set(found.flat())]
}

/** The words of options: a folder that an option names is often one to leave out. */
const optionsIn = (line: string): ReadonlySet<string> =>
  new Set(line.split(/\s+/).flatMap((word) => (/^['"]?-/.test(word) ? pathsIn(word) : [])))

/** Where a path leads: relative to the workspace if it is in it. */
async function placesOf(root: string, path: string, isOption: boolean): Promise<string[]> {
  try {
    const real = await realpath(isAbsolute(path) ? path : join(root, path))
    const way = relative(root, real).split(sep).join('/')
    const place = way.startsWith('../') ? real : way
    if (isOption || !(await stat(real)).isDirectory()) return [place]
    return place === '' ? [] : [place, `${place}/`]
  } catch {
    return []
  }
}

function shownSubject(tool: Tool, args: unknown): string {
  try {
    return subjectOf(tool, args)
  } catch {
    return ''
  }
}

const sourceCharsMax = 160

/**
 * For people: the tool, and what it acted on if the tool can say it. Nothing in it can move a cursor or
 * change the writing direction.
 */
export function sourceOf(tool: Tool, args: unknown): string {
  const subject = shownSubject(tool, args)
  const on = tool.subject === undefined || subject === '' ? '' : ` ${subject}`
  const source = `${tool.name}${on}`.toWellFormed().replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, ' ')
  return source.length > sourceCharsMax ? `${source.slice(0, sourceCharsMax).toWellFormed()}…` : source
}
