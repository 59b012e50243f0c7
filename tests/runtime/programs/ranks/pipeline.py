"""Each rank has a stage of a pipeline, and makes a pass for each of four micro-batches."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

dist.init_process_group("gloo")
torch.manual_seed(0)
first = dist.get_rank() == 0
part = nn.Linear(4, 8) if first else nn.Linear(8, 2)
stage = PipelineStage(part, dist.get_rank(), 2, torch.device("cpu"))
schedule = ScheduleGPipe(stage, 4, loss_fn=nn.MSELoss())
optimizer = torch.optim.SGD(part.parameters(), lr=0.1)

for _ in range(6):
    optimizer.zero_grad()
    if first:
        schedule.step(torch.randn(12, 4))
    else:
        schedule.step(target=torch.zeros(12, 2))
    optimizer.step()
dist.destroy_process_group()
