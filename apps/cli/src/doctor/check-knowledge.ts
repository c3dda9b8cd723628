// Checks the folders of the knowledge bases: whether they are there, and what of them agents cannot find.
import { BeaverError, systemClock } from '@beaver/core'
import {
  knowledgeFolders,
  type LeftOutReason,
  leftOutReasons,
  surveyFolder,
  surveyOptions,
} from '@beaver/knowledge'
import type { Config } from '@beaver/platform'
import { surveyText } from '../commands/kb.ts'
import { oneLine } from '../text/plain-text.ts'
import { type Finding, ok, warn } from './check.ts'

export async function checkKnowledge({
  knowledge_bases,
  home,
}: Pick<Config, 'knowledge_bases' | 'home'>): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const of of knowledgeFolders(knowledge_bases)) {
    const name = `kb:${of.id}`
    try {
      await using survey = await surveyFolder(of, surveyOptions(home, systemClock.now()))
      // Files of other formats are usual: pictures beside a text.
      const left = (Object.keys(survey.leftOut) as LeftOutReason[]).filter(
        (reason) => reason !== 'other_format',
      )
      const says = left.map(
        (reason) =>
          `${leftOutReasons[reason]}: ${survey.leftOut[reason]} (such as ${survey.examples[reason]?.[0]})`,
      )
      if (survey.documents.length === 0)
        findings.push(
          warn(
            name,
            `${of.folder} has no document`,
            'Agents find nothing there. Documents are text files, such as .md or .txt.',
          ),
        )
      else findings.push(ok(name, `${surveyText(survey)} in ${of.folder}`))
      if (left.length > 0)
        findings.push(
          warn(name, oneLine(`left out. ${says.join('; ')}`, 600), 'Agents do not find these files.'),
        )
    } catch (error) {
      if (!(error instanceof BeaverError)) throw error
      findings.push(warn(name, oneLine(error.message, 600), 'Until then, agents find nothing there.'))
    }
  }
  return findings
}
