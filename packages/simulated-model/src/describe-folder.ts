// Says what a folder is, only with words from its files.
import { parseJson } from './conversation.ts'
import type { FileList, FilePart, FolderSummary } from './known.ts'
import { plainProse } from './plain-prose.ts'

const sentenceCharsMax = 400

export function describeFolder(list: FileList, parts: readonly FilePart[]): FolderSummary {
  const notes = parts.map((part) => ({ path: part.path, note: noteOn(part) }))
  const readme = parts.map(readmeOf).find((found) => found !== null)
  const manifest = parts.map(manifestOf).find((found) => found !== null)
  const sentences = [readme?.heading, readme?.paragraph, manifest?.description].filter(
    (text) => text !== undefined && text !== '',
  )
  const said = [...new Set(sentences)]
    .map((text) => (/[.!?。！？]$/.test(text ?? '') ? text : `${text}.`))
    .join(' ')
  return { name: list.folder, path: list.path, what_it_is: said || whatItHolds(list), notable_files: notes }
}

function noteOn(part: FilePart): string {
  if (part.text === null) return 'binary'
  const readme = readmeOf(part)
  if (readme !== null) return readme.heading || 'readme'
  const manifest = manifestOf(part)
  if (manifest !== null) return manifest.name === '' ? 'manifest' : `manifest of ${manifest.name}`
  return clip(
    part.text
      .split('\n')
      .find((line) => line.trim() !== '')
      ?.trim()
      .replace(/^#{1,6}\s+/, '') ?? 'empty',
    80,
  )
}

/** The first heading and the first paragraph of prose. */
function readmeOf({ path, text }: FilePart): { heading: string; paragraph: string } | null {
  if (text === null || !/(^|\/)(readme[^/]*|index\.md|about\.(md|txt))$/i.test(path)) return null
  let heading = ''
  const paragraph: string[] = []
  let fenced = false
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (/^(```|~~~)/.test(line)) fenced = !fenced
    const isProse =
      !fenced && line !== '' && !/^(#|=+$|-+$|<|\[!|!\[|\[\[|\||>|```|~~~|---|[*+-] |\d+\. )/.test(line)
    if (heading === '' && /^#+\s/.test(line)) heading = plainProse(line.replace(/^#+\s*/, ''))
    else if (isProse) paragraph.push(line)
    else if (paragraph.length > 0) break
  }
  return { heading: clip(heading, 120), paragraph: clip(plainProse(paragraph.join(' ')), sentenceCharsMax) }
}

function manifestOf({ path, text }: FilePart): { name: string; description: string } | null {
  if (text === null) return null
  if (/(^|\/)(package|composer|deno)\.json$/.test(path)) {
    const value = parseJson(text) as { name?: unknown; description?: unknown } | null | undefined
    if (typeof value !== 'object' || value === null) return null
    return {
      name: clip(typeof value.name === 'string' ? value.name : '', 80),
      description:
        typeof value.description === 'string' ? clip(oneLine(value.description), sentenceCharsMax) : '',
    }
  }
  if (!/(^|\/)(cargo|pyproject)\.toml$/i.test(path)) return null
  const field = (name: string): string => clip(oneLine(tomlText(text, name)), sentenceCharsMax)
  return { name: field('name'), description: field('description') }
}

/** The value of a field with a text on one line. Empty if there is none. */
function tomlText(toml: string, field: string): string {
  const [, literal, basic] =
    new RegExp(String.raw`^${field}[ \t]*=[ \t]*(?:'([^'\n]*)'|("(?:[^"\\\n]|\\.)*"))`, 'm').exec(toml) ?? []
  if (literal !== undefined || basic === undefined) return literal ?? ''
  const read = parseJson(basic)
  return typeof read === 'string' ? read : basic.slice(1, -1)
}

function whatItHolds(list: FileList): string {
  if (list.entries.length === 0) return 'The folder is empty.'
  const names = list.entries.slice(0, 5).map((entry) => entry.path)
  return clip(
    `No readme or manifest says what the folder is. The listing begins with ${names.join(', ')}.`,
    sentenceCharsMax,
  )
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()

const clip = (text: string, charactersMax: number): string =>
  text.length > charactersMax ? `${text.slice(0, charactersMax).toWellFormed()}…` : text
