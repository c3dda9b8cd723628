// Profiles and workflows that a program writes in TypeScript. They are checked where they are defined, so
// that a fault is reported there and not when a task fails. The daemon reads them as files from a folder of
// the home. The folder contains only the definitions of this service, and only the holder of the home's lock
// writes it.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AgentProfileInput, readProfile } from '@beaver/agent'
import { BeaverError, type Problem } from '@beaver/core'
import { makeFolder } from '@beaver/platform'
import { readDefinition, type WorkflowDefinitionInput } from '@beaver/workflows'

/**
 * A workflow and its id. The other fields are those of a definition file
 * (docs/reference/workflow-definitions.md).
 */
export interface WorkflowInput extends WorkflowDefinitionInput {
  /**
   * The id, with which an agent calls the workflow as `workflow:<id>`: 1 to 64 letters, digits, `_`, `-` and
   * `.`, not beginning with `-` or `.`.
   */
  readonly id: string
}

/**
 * Checks a profile of root agents, and returns it unchanged.
 *
 * @throws {BeaverError} `invalid_configuration`
 * @example
 * const clerk = defineProfile({ name: 'clerk', system_prompt: 'You answer in one sentence.', tool_ids_inventory: ['system:read_file'] })
 * clerk.name // => 'clerk'
 * defineProfile({ name: '' }) // throws invalid_configuration
 */
export function defineProfile(profile: AgentProfileInput): AgentProfileInput {
  const { diagnostics } = readProfile(profile)
  refuseIf(`The profile ${JSON.stringify(profile.name)}`, diagnostics)
  return profile
}

/**
 * Checks a workflow, and returns it unchanged. Agents call it as `workflow:<id>`, and a task may run it. When
 * the service boots, Beaver checks that the tools and agents that the workflow names exist.
 *
 * @throws {BeaverError} `invalid_configuration`
 * @example
 * const sumUp = defineWorkflow({
 *   id: 'sum_up',
 *   description: 'Sums up a text. Choose it when someone asks what a text says.',
 *   interfaceInputs: { text: { dataFlowType: 'STRING', required: true } },
 *   interfaceOutputs: { summary: { dataFlowType: 'STRING' } },
 *   nodes: [{ id: 'summary', kind: 'agent', instruction: 'Sum up in one sentence: {{ inputs.text }}' }],
 * })
 * sumUp.id // => 'sum_up'
 * defineWorkflow({ ...sumUp, nodes: [] }) // throws invalid_configuration
 */
export function defineWorkflow(workflow: WorkflowInput): WorkflowInput {
  const { id, ...file } = workflow
  if (!/^[\p{L}\p{N}_][\p{L}\p{N}_.-]{0,63}$/u.test(id))
    refuseIf('The workflow', [
      {
        path: 'id',
        message: `The id ${JSON.stringify(id)} must be 1 to 64 letters, digits, "_", "-" or "."`,
      },
    ])
  const { diagnostics } = readDefinition(id, JSON.parse(JSON.stringify(file)))
  const faults = diagnostics.filter(({ severity }) => severity === 'error')
  refuseIf(`The workflow ${JSON.stringify(id)}`, faults)
  return workflow
}

function refuseIf(subject: string, faults: readonly Problem[]): void {
  if (faults.length === 0) return
  const problems = faults.map(({ path, message }) => ({ path, message }))
  const lines = problems.map(({ path, message }) =>
    path === '' || message.includes(path) ? message : `${path}: ${message}`,
  )
  throw new BeaverError('invalid_configuration', `${subject} is not valid: ${lines.join(' ')}`, { problems })
}

/**
 * Where the daemon finds the definitions: the files of profiles and the folders of workflows, as absolute
 * paths if the home is absolute.
 */
export interface DefinitionPlaces {
  readonly profiles: readonly string[]
  readonly workflows: readonly string[]
}

/**
 * Writes the definitions into the folder `run/program` of the home, in place of those of an earlier service.
 */
export function writeDefinitions(
  home: string,
  definitions: { profiles: readonly AgentProfileInput[]; workflows: readonly WorkflowInput[] },
): DefinitionPlaces {
  const folder = join(home, 'run', 'program')
  rmSync(folder, { recursive: true, force: true })
  makeFolder(join(folder, 'workflows'))
  const write = (file: string, content: object): string => {
    writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`)
    return file
  }
  const profiles = definitions.profiles.map((profile, i) =>
    write(join(folder, `profile-${i + 1}.json`), profile),
  )
  for (const { id, ...file } of definitions.workflows) write(join(folder, 'workflows', `${id}.json`), file)
  return { profiles, workflows: definitions.workflows.length === 0 ? [] : [join(folder, 'workflows')] }
}
