// Turns a definition into a Workflow: the tool `workflow:<id>` (CT-03), planned like any other. `plan` never
// changes the definition, so parallel calls share nothing mutable. The graph contains all that its program
// needs, including the definitions that its maps may call.
import { invariant, type JsonObject } from '@beaver/core'
import { definitionPrefix, type ExecutionGraph, graphFault } from '@beaver/core/graph'
import { z } from 'zod'
import { defaultWorkflowLimits, type PlanResult, type Workflow, type WorkflowLimits } from '../workflow.ts'
import { evidenceFault } from '../evidence-fault.ts'
import { refuse } from '../workflow-error.ts'
import { compileNodes, outputsNode, sizeOf } from './compile.ts'
import type { Body, DefinitionNode, WorkflowDefinitionFile } from './definition-file.ts'
import { parametersOf, readInputs } from './interface-schema.ts'
import { type DefinitionLibrary, libraryFault, reachableFrom } from './library.ts'
import { definitionProgram, edgesFault, sizeFault } from './program.ts'
import { copied, type GraphSettings, outputsId } from './settings.ts'

/**
 * The tool of a definition. `library` contains the definitions that it may call.
 *
 * @example
 * const { definition } = readDefinition('sum_up', {
 *   description: 'Sums up a text. Choose it when someone asks what a text says.',
 *   interfaceInputs: { text: { dataFlowType: 'STRING', required: true } },
 *   interfaceOutputs: { summary: { dataFlowType: 'STRING' } },
 *   nodes: [{ id: 'summary', kind: 'agent', instruction: 'Sum up in one sentence: {{ inputs.text }}' }],
 * })
 * if (definition !== null) definitionWorkflow(definition, new Map([['sum_up', definition]])).name // => 'workflow:sum_up'
 */
export function definitionWorkflow(definition: WorkflowDefinitionFile, library: DefinitionLibrary): Workflow {
  const name = `${definitionPrefix}${definition.id}`
  const { interfaceInputs } = definition
  const description = described(definition)
  const parameters = structuredClone(parametersOf(interfaceInputs)) as JsonObject
  return {
    name,
    description,
    // The JSON schema of this equals `parameters`.
    input: z
      .unknown()
      .superRefine((args, context) => {
        const read = readInputs(interfaceInputs, args)
        if (!read.ok)
          context.addIssue({
            code: 'custom',
            path: read.error.path === '' ? [] : [read.error.path],
            message: read.error.message,
          })
      })
      .meta(parameters),
    parameters,
    program: definitionProgram,
    plan(args, options) {
      const fault = libraryFault(definition, library)
      if (fault !== null)
        return refuse(refusalCodes[fault.code], '', `This workflow cannot be called: ${fault.message}`)
      const read = readInputs(interfaceInputs, args)
      if (!read.ok) return read
      const planned = graphOf(definition, library, {
        name,
        inputs: read.values,
        limits: { ...defaultWorkflowLimits, ...options?.limits },
      })
      if (!planned.ok) return planned
      const impossible = evidenceFault(
        reachableFrom(definition, library).map(({ nodes }) => nodes),
        options?.tools,
      )
      return impossible === null
        ? planned
        : refuse(impossible.error.code, '', `This workflow cannot be called: ${impossible.error.message}`)
    },
  }
}

/** The description by D-14. */
function described({ id, name, description }: WorkflowDefinitionFile): string {
  return [description, name].find((text) => text !== undefined && text.trim() !== '') ?? id
}

const refusalCodes = {
  workflow_recursion: 'workflow_recursion',
  workflow_too_deep: 'workflow_too_deep',
  unknown_workflow: 'unknown_workflow',
  unknown_workflow_input: 'invalid_definition',
  missing_workflow_input: 'invalid_definition',
} as const

interface Call {
  readonly name: string
  readonly inputs: JsonObject
  readonly limits: WorkflowLimits
}

function graphOf(definition: WorkflowDefinitionFile, library: DefinitionLibrary, call: Call): PlanResult {
  const limits = { agents_max: call.limits.agentsMax, edges_max: call.limits.edgesMax }
  const tooLarge = sizeFault(sizeOf(definition, library), limits)
  if (tooLarge !== null)
    return refuse(tooLarge.code, '', `This workflow cannot be called: ${tooLarge.message}`)
  const nodes = [
    ...compileNodes(definition, '', null, { workflow: call.name, library }),
    outputsNode(definition, outputsId, '', null),
  ]
  const tooWide = edgesFault(nodes, 0, limits)
  if (tooWide !== null) return refuse(tooWide.code, '', `This workflow cannot be called: ${tooWide.message}`)
  const later = mapped(definition, library)
  const settings: GraphSettings = {
    inputs: call.inputs,
    definitions: Object.fromEntries(later.map((each) => [each.id, each])),
    skills: [
      ...reachableFrom(definition, library).flatMap((each) => each.nodes.flatMap(bodySkill)),
      ...later.flatMap((each) => each.nodes.flatMap(nodeSkill)),
    ],
    limits,
  }
  const graph: ExecutionGraph = {
    workflow: call.name,
    task: taskOf(call),
    nodes,
    outputs: [outputsId],
    output: outputsId,
    ...(definition.deadlineMs === undefined ? {} : { deadline_ms: definition.deadlineMs }),
    settings: copied(settings),
  }
  const fault = graphFault(graph)
  invariant(fault === null, `${call.name} was compiled to a graph in which ${fault}`)
  return { ok: true, graph }
}

/** The request that people read: the call itself, as far as there is room. */
function taskOf({ name, inputs }: Call): string {
  const inputsText = JSON.stringify(inputs)
  return `${name} ${inputsText.length > taskCharsMax ? `${inputsText.slice(0, taskCharsMax).toWellFormed()}…` : inputsText}`
}

const taskCharsMax = 300

/** The definitions that are compiled only when a map knows its items, and those that they call. */
function mapped(
  definition: WorkflowDefinitionFile,
  library: DefinitionLibrary,
): readonly WorkflowDefinitionFile[] {
  const found = new Map<string, WorkflowDefinitionFile>()
  for (const { nodes } of reachableFrom(definition, library)) {
    for (const node of nodes) {
      const called =
        node.kind === 'map' && node.body.kind === 'workflow' ? library.get(node.body.workflow) : undefined
      if (called !== undefined) for (const each of reachableFrom(called, library)) found.set(each.id, each)
    }
  }
  return [...found.values()]
}

type Pinned = GraphSettings['skills'][number]

const pinned = (name: string, step: Body | DefinitionNode): Pinned[] =>
  step.kind === 'agent' && step.useSkill !== undefined ? [{ name, use_skill: step.useSkill }] : []
const nodeSkill = (node: DefinitionNode): Pinned[] => pinned(node.id, node)
const bodySkill = (node: DefinitionNode): Pinned[] => (node.kind === 'map' ? pinned(node.id, node.body) : [])
