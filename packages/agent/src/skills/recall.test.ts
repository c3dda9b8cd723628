import { fileURLToPath } from 'node:url'
import { ownMs } from '@beaver/testing'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { skill } from '../../test/skill-kit.ts'
import { loadSkills } from './load-skills.ts'
import { candidatesMax, cosine, recallByVectors, recallByWords } from './recall.ts'

const { skills: builtin } = await loadSkills([fileURLToPath(new URL('../../../../skills', import.meta.url))])
const named = (text: string, skills = builtin): string[] =>
  recallByWords(text, skills).map((each) => each.skill.name)
const chinese = [
  skill('folder-figures', '统计文件夹的文件数量、行数和大小，生成报告。用户询问文件夹或项目概况时使用。'),
]

describe('recall by words', () => {
  test.each([
    'Say hello',
    'Say hello with the tool.',
    'What is 2+2?',
    'Count.',
    'Count to ten',
    'second',
    'hi',
    '',
    '   ',
    '!?',
    'Write a poem about the sea',
    'Use the tool echo with text "x"',
    'Echo the text "hi" and then answer.',
    'Fix the bug in line 30 of main.c',
    'Translate these words to French',
    'bench task 17',
    'Compare MGM and Galaxy',
    '你好',
    '帮我写一首诗',
  ])('of %j finds no built-in skill, so that it costs nothing', (text) => expect(named(text)).toEqual([]))

  test.each([
    'Report on this folder',
    'report on THE FOLDERS, please',
    'Describe the folder',
    'Which files are the largest?',
    'Give me an overview of this code base',
    'Statistics of the project',
    `We met last week and talked about many things. ${'The plan is open and nobody decided anything yet. '.repeat(20)} Now I need a report of the folder.`,
  ])('of %j finds folder-report', (text) => expect(named(text)).toEqual(['folder-report']))

  test.each(['统计这个文件夹', '这个项目有多少文件', '请帮我统计文件夹里的文件'])(
    'of %j finds a skill described in Chinese',
    (text) => expect(named(text, chinese)).toEqual(['folder-figures']),
  )
  test.each(['你好', '天气怎么样', '写一首关于大海的诗'])('of %j does not', (text) =>
    expect(named(text, chinese)).toEqual([]),
  )

  it('puts the rarer word first', () => {
    const pdf = skill('pdf-forms', 'Fills forms in PDF files.')
    const others = ['csv', 'xml', 'docx'].map((name) => skill(name, `Reads and merges ${name} files.`))
    expect(named('merge two pdf files', [...others, pdf])[0]).toBe('pdf-forms')
  })

  it(`gives at most ${candidatesMax}, scored from 0 to 1, best first, the first of equals first`, () => {
    const many = Array.from({ length: 20 }, (_, i) => skill(`s${i}`, 'Merges tables.'))
    const found = recallByWords('merge tables', many)
    expect(found.map((each) => each.skill.name)).toEqual(
      many.slice(0, candidatesMax).map((each) => each.name),
    )
  })

  it('finds a skill or not whatever other skills there are (R2)', () => {
    const word = fc.constantFrom(
      'report',
      'folder',
      'table',
      'merge',
      'pdf',
      'count',
      'second',
      '统计',
      '文件夹',
      'web',
    )
    const text = fc.array(word, { minLength: 1, maxLength: 8 }).map((words) => words.join(' '))
    fc.assert(
      fc.property(text, text, fc.array(text, { maxLength: 5 }), (query, description, others) => {
        const one = skill('one', description)
        const among = recallByWords(query, [one, ...others.map((each, i) => skill(`other-${i}`, each))])
        for (const { score, share } of among)
          expect(score >= 0 && score <= 1 && share > 0 && share <= 1).toBe(true)
        expect(among.some((each) => each.skill === one)).toBe(recallByWords(query, [one]).length === 1)
      }),
      { numRuns: 1_000 },
    )
  })

  it('of a very long text takes little time', async () => {
    const work = (): void => {
      recallByWords('report folder '.repeat(50_000), builtin)
      recallByWords('统计文件夹'.repeat(50_000), chinese)
      recallByWords(Array.from({ length: 50_000 }, (_, i) => `w${i}`).join(' '), builtin)
    }
    expect(await ownMs(work)).toBeLessThan(2_000)
  })
})

describe('recall by vectors', () => {
  const [near, far, none] = [skill('near', 'd'), skill('far', 'd'), skill('none', 'd')]

  it('gives what is alike, best first, and leaves out what has nothing to do with it', () => {
    const vectors = [
      { skill: far, vector: [3, 4] },
      { skill: near, vector: [2, 0.1] },
      { skill: none, vector: [0, 3] },
    ]
    expect(recallByVectors([1, 0], vectors).map((each) => [each.skill.name, each.score])).toEqual([
      ['near', 0.9988],
      ['far', 0.6],
    ])
  })

  it('has no candidate where a vector has no direction', () =>
    expect(recallByVectors([0, 0], [{ skill: near, vector: [1, 0] }])).toEqual([]))

  it('does not ask how long the vectors are', () => expect(cosine([1, 2, 3], [100, 200, 300])).toBeCloseTo(1))
})
