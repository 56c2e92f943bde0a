"""Pipelines: loops in which each stage computes a part of a model and sends it on to the next stage.

    report = pipeline_report(module, time, memory)
    report.stages, report.microbatches, report.bubble
    print(report)

Start at `flow.py` (what the body of a loop depends on), then `detected.py` (which loops are pipelines),
`model.py` (the report). Not here: what a step takes and sends (`report/time`).
"""

from shardy_py.report.pipeline.detected import pipeline_report
from shardy_py.report.pipeline.model import PipelineLoop, PipelineReport, StageSend

__all__ = ["PipelineLoop", "PipelineReport", "StageSend", "pipeline_report"]
