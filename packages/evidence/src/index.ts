export { evaluateEvidence, evaluateNode } from './evaluate.ts'
