// Evidence: what an answer must rest on, and whether it does.
export { checkedFormats, checkedKeywords, schemaFault, schemaMismatch } from './output-schema.ts'
export { faultsText, repairMessage, withoutFence } from './output-text.ts'
export { type SchemaClash, schemaClash } from './schema-clash.ts'
export { judgeOutput, type JudgedOutput, type OutputFault, outputSchema } from './structured-output.ts'
export { compilePattern } from './pattern.ts'
export {
  type EvidenceCheck,
  type EvidenceDemands,
  type EvidenceRequirement,
  evidenceCheck,
  evidenceRequirement,
  type MachineRequirement,
  machineRequirement,
  requirementsOf,
} from './requirement.ts'
export { isPointer, plannedRequirement } from './requirement-fault.ts'
export {
  type EvidenceGate,
  type EvidenceVerdict,
  factsOf,
  filesToFind,
  type GivenFact,
  type RunFacts,
} from './run-facts.ts'
