# SPDX-License-Identifier: Apache-2.0
"""Training loops as tutorials write them, one a process, all from one import; knows nothing of tfprof. Prints name and pid of each.
What is evaluated or computed besides is much larger than a step, so that whoever counts it in is found out."""
import os
import sys
import threading

import torch
import torch._dynamo  # which the first optimizer of a process imports: once for all of them
import torch.nn as nn

torch.set_num_threads(1)
loss_of = nn.functional.mse_loss
LARGE, SMALL = 4096, 64


def parts(size=32):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(size, 64), nn.ReLU(), nn.Linear(64, 1))
    return net, torch.optim.SGD(net.parameters(), lr=0.01)


def batch(rows=SMALL):
    return torch.randn(rows, 32), torch.randn(rows, 1)


def train(net, optimizer, steps):
    for _ in range(steps):
        x, y = batch()
        optimizer.zero_grad()
        loss_of(net(x), y).backward()
        optimizer.step()


def score(net, gradients):
    with torch.set_grad_enabled(gradients):
        for _ in range(8):
            net(batch(LARGE)[0])


def evaluation(gradients=False):  # 4 epochs of 10 steps, scored after each
    net, optimizer = parts()
    for _ in range(4):
        train(net, optimizer, 10)
        score(net, gradients)


def evaluation_with_gradients():  # net.eval() alone, as beginners write it
    evaluation(True)


def evaluation_first():  # scored before anything is learnt, as some trainers check themselves
    net, optimizer = parts()
    optimizer.zero_grad()
    score(net, False)
    train(net, optimizer, 20)


def whole_batch():  # an epoch of one batch, scored after each
    net, optimizer = parts()
    x, y = batch()
    for _ in range(16):
        optimizer.zero_grad()
        loss_of(net(x), y).backward()
        optimizer.step()
        score(net, False)


def acting():  # reinforcement learning: a forward pass without gradients is part of every step
    net, optimizer = parts()
    for _ in range(30):
        with torch.no_grad():
            net(batch()[0])
        train(net, optimizer, 1)


def acting_scored():  # the same, scored once at the end: what comes before every step stays in it
    acting()
    score(parts()[0], False)


def taught(steps=30):  # a teacher learns, scored between its epochs, and then acts before each step of its student, who is scored at the end
    teacher, optimizer = parts()
    for epoch in range(2):
        if epoch:
            score(teacher, False)
        train(teacher, optimizer, 12)
    net, optimizer = parts()
    for _ in range(steps):
        x, y = batch()
        with torch.no_grad():
            wanted = teacher(x)
        optimizer.zero_grad()
        (loss_of(net(x), y) + nn.functional.l1_loss(net(x), wanted)).backward()
        optimizer.step()
    score(net, False)


def taught_briefly():  # the teacher acts in less than half of all steps
    taught(14)


def taught_and_scored():  # a teacher that follows its student acts on each batch of a loader; both are scored between epochs
    net, optimizer = parts()
    teacher = parts()[0]
    for _ in range(4):
        for (x,) in loaded(8 * SMALL):
            with torch.no_grad():
                wanted = teacher(x)
            optimizer.zero_grad()
            (loss_of(net(x), x[:, :1]) + nn.functional.l1_loss(net(x), wanted)).backward()
            optimizer.step()
            with torch.no_grad():
                for mine, its in zip(net.parameters(), teacher.parameters()):
                    its.lerp_(mine, 0.1)
        score(net, False)
        score(teacher, False)


def critic():  # what a maker makes is judged, with gradients that nobody uses; between epochs it makes more, without
    maker = parts()[0]
    net, optimizer = parts(33)
    for _ in range(4):
        for (x,) in loaded(8 * SMALL):
            made = maker(x).detach()
            optimizer.zero_grad()
            net(torch.cat([x, made], 1)).mean().backward()
            optimizer.step()
        score(maker, False)


def exploring():  # episodes of all lengths are played before each step: none of that is evaluation
    net, optimizer = parts()
    for i in range(30):
        with torch.no_grad():
            for _ in range(1 + i * 7 % 13):
                net(batch(1)[0])
        train(net, optimizer, 1)


def together():  # two optimizers of two kinds after one backward pass
    net = parts()[0]
    optimizers = torch.optim.Adam(net[0].parameters()), torch.optim.SGD(net[2].parameters(), lr=0.01)
    for _ in range(18):
        x, y = batch()
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss_of(net(x), y).backward()
        for optimizer in optimizers:
            optimizer.step()


def late_zero():  # zero_grad between forward and backward
    net, optimizer = parts()
    for _ in range(12):
        x, y = batch()
        loss = loss_of(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def accumulating():  # nothing announces the first step
    net, optimizer = parts()
    for i in range(48):
        x, y = batch()
        (loss_of(net(x), y) / 4).backward()
        if i % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()


def adversaries():  # two optimizers of one name
    maker, judge = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32)), parts()[0]
    makes, judges = (torch.optim.Adam(net.parameters()) for net in (maker, judge))
    ones, zeros = torch.ones(SMALL, 1), torch.zeros(SMALL, 1)
    for _ in range(20):
        judges.zero_grad()
        (loss_of(judge(batch()[0]), ones) + loss_of(judge(maker(torch.randn(SMALL, 8)).detach()), zeros)).backward()
        judges.step()
        makes.zero_grad()
        loss_of(judge(maker(torch.randn(SMALL, 8))), ones).backward()
        makes.step()


def alternating():  # one optimizer, and two tasks that take turns
    net = parts()[0]
    optimizer = torch.optim.Adam(net.parameters())
    for i in range(24):
        x, y = batch()
        optimizer.zero_grad()
        (loss_of(net(x), y) if i % 2 else net(x).abs().mean()).backward()
        optimizer.step()


def cycle():  # a maker takes each batch, then two judges that are alike learn of it
    maker, judges = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32)), (parts()[0], parts()[0])
    makes, *judge_steps = (torch.optim.Adam(net.parameters()) for net in (maker, *judges))
    for x, in loaded(SMALL * 15):
        made = maker(x)
        makes.zero_grad()
        (-sum(judge(made).mean() for judge in judges)).backward()
        makes.step()
        for judge, optimizer in zip(judges, judge_steps):
            optimizer.zero_grad()
            (judge(made.detach()).mean() - judge(x).mean()).backward()
            optimizer.step()


def of_one_shape():  # an actor and its critic are alike, each with an optimizer of its own
    (actor, _), (critic, _) = parts(), parts()
    optimizers = [torch.optim.Adam(net.parameters()) for net in (critic, actor)]
    for _ in range(20):
        x, y = batch()
        for net, optimizer in zip((critic, actor), optimizers):
            optimizer.zero_grad()
            loss_of(net(x), y).backward()
            optimizer.step()


def one_behind_the_other():  # those, and then a net of another shape, with an optimizer of another kind
    of_one_shape()
    net = nn.Sequential(nn.Linear(32, 32), nn.Sigmoid(), parts()[0])
    train(net, torch.optim.RMSprop(net.parameters()), 16)


def two_loaders():  # one optimizer, and two tasks that take turns, each with a head and a loader of its own
    trunk, heads = nn.Linear(32, 64), (nn.Linear(64, 1), nn.Sequential(nn.ReLU(), nn.Linear(64, 1)))
    optimizer = torch.optim.Adam([*trunk.parameters(), *heads[0].parameters(), *heads[1].parameters()])
    loaders = [iter(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*batch(12 * SMALL)), SMALL)) for _ in heads]
    for i in range(24):
        x, y = next(loaders[i % 2])
        optimizer.zero_grad()
        loss_of(heads[i % 2](trunk(x).relu()), y).backward()
        optimizer.step()


def skipping():  # the first batch and the ninth have gradients that are no numbers: GradScaler leaves their steps out
    net, optimizer = parts()
    scaler = torch.amp.GradScaler("cpu")
    for i in range(20):
        x, y = batch()
        optimizer.zero_grad()
        with torch.autocast("cpu"):
            loss = loss_of(net(x), y) * (float("inf") if i in (0, 8) else 1)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def two_of_one_name():
    maker, judge = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32)), parts()[0]
    return maker, judge, torch.optim.Adam(maker.parameters()), torch.optim.Adam(judge.parameters())


def seldom(x, i, adversaries, draws):  # a judge for each batch, its maker for each third
    maker, judge, makes, judges = adversaries
    noise = torch.randn(SMALL, 8)
    judges.zero_grad()
    (judge(maker(noise).detach()).mean() - judge(x).mean()).backward()
    judges.step()
    if i % 3 == 0:
        makes.zero_grad()
        (-judge(maker(torch.randn(SMALL, 8) if draws else noise))).mean().backward()
        makes.step()


def seldom_made():  # batches of a loader
    adversaries = two_of_one_name()
    for i, (x,) in enumerate(loaded(SMALL * 30)):
        seldom(x, i, adversaries, True)


def seldom_drawn():  # no loader
    adversaries = two_of_one_name()
    for i in range(30):
        seldom(batch()[0], i, adversaries, False)


def rounds():  # a judge steps three times, with new data each time, and then its maker once
    maker, judge, makes, judges = two_of_one_name()
    for _ in range(12):
        for _ in range(3):
            judges.zero_grad()
            (judge(maker(torch.randn(SMALL, 8)).detach()).mean() - judge(batch()[0]).mean()).backward()
            judges.step()
        makes.zero_grad()
        (-judge(maker(torch.randn(SMALL, 8))).mean()).backward()
        makes.step()


def second_head():  # one optimizer; each fourth batch is learnt from by another head
    trunk, heads = nn.Linear(32, 64), (nn.Linear(64, 1), nn.Linear(64, 2))
    optimizer = torch.optim.Adam([*trunk.parameters(), *heads[0].parameters(), *heads[1].parameters()])
    for i in range(40):
        optimizer.zero_grad()
        hidden = trunk(batch()[0]).relu()
        loss = heads[1](hidden).square().mean() if i % 4 == 3 else heads[0](hidden).mean()
        loss.backward()
        optimizer.step()


def scaled_at_times():  # one optimizer, another loss for each third batch
    net, optimizer = parts()
    for i, (x,) in enumerate(loaded(SMALL * 30)):
        loss = net(x).mean()
        if i % 3 == 0:
            loss = loss + net[0].weight.square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def inner_loops():  # each round of one optimizer is four steps of another one's, on a copy
    net = parts()[0]
    outer = torch.optim.Adam(net.parameters())
    for _ in range(5):
        fast = parts()[0]
        fast.load_state_dict(net.state_dict())
        train(fast, torch.optim.SGD(fast.parameters(), lr=0.01), 4)
        for parameter, learnt in zip(net.parameters(), fast.parameters()):
            parameter.grad = (parameter - learnt).detach()
        outer.step()


def used_again():  # each batch three times, each with a backward pass of its own
    net, optimizer = parts()
    for x, in loaded(SMALL * 10):
        for loss in (torch.mean, torch.mean, torch.sum):
            optimizer.zero_grad()
            loss(net(x)).backward()
            optimizer.step()


def hooked():  # an optimizer for each parameter, called in the backward pass: gradients need no memory then
    net = nn.Sequential(*(nn.Linear(32, 32) for _ in range(3)))
    optimizers = {weight: torch.optim.SGD([weight], lr=0.01) for weight in net.parameters()}

    def learn(weight):
        optimizers[weight].step()
        optimizers[weight].zero_grad()
    for weight in net.parameters():
        weight.register_post_accumulate_grad_hook(learn)
    for i in range(20):
        net(batch()[0]).square().mean().backward()
        if i == 9:
            score(net, False)


def closure():  # the step calls back for its loss, scored in between
    net, optimizer = parts()
    for _ in range(3):
        for _ in range(8):
            x, y = batch()

            def again():
                optimizer.zero_grad()
                loss = loss_of(net(x), y)
                loss.backward()
                return loss
            optimizer.step(again)
        score(net, False)


class Twice(torch.optim.Optimizer):
    """Learns from a second pass, which it calls back for once the first one moved the weights (SAM); another optimizer does the rest."""

    def __init__(self, parameters):
        super().__init__(parameters, {})
        self.base = torch.optim.SGD(self.param_groups, lr=0.01)

    def step(self, closure):
        self.zero_grad()
        with torch.enable_grad():
            closure()
        self.base.step()
        self.zero_grad()


def twice():  # nothing announces the first step but what stands inside of it
    net = parts()[0]
    optimizer = Twice(net.parameters())
    for _ in range(24):
        x, y = batch()
        loss_of(net(x), y).backward()
        optimizer.step(lambda: loss_of(net(x), y).backward())


def followed():  # fine-tuned with an optimizer of another kind
    net, optimizer = parts()
    train(net, optimizer, 12)
    train(net, torch.optim.Adam(net.parameters()), 14)


def beside():  # two threads train a net each, with an optimizer of their own kind, steps taking turns
    barrier = threading.Barrier(2)

    def alone(kind):
        net = nn.Linear(32, 1)
        optimizer = kind(net.parameters(), lr=0.01)
        for _ in range(15):
            train(net, optimizer, 1)
            barrier.wait()
    threads = [threading.Thread(target=alone, args=(kind,)) for kind in (torch.optim.SGD, torch.optim.Adam)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def compiled():  # 3 epochs of 8 steps, scored after each; the last batch of the first has a size of its own, so code is made again
    net, optimizer = parts()
    model = torch.compile(net, backend="aot_eager", dynamic=False)
    for epoch in range(3):
        for i in range(8):
            x, y = batch(SMALL // 2 if epoch == 0 and i == 7 else SMALL)
            loss = loss_of(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            for _ in range(4):
                model(batch(LARGE)[0])


def forked():  # a child goes on with another optimizer
    net, optimizer = parts()
    train(net, optimizer, 10)
    child = os.fork()
    if child == 0:
        train(net, torch.optim.Adam(net.parameters()), 12)
        os._exit(0)
    os.waitpid(child, 0)
    print("forked_child", child, flush=True)


def by_hand():  # no optimizer at all
    weights = torch.randn(32, 1, requires_grad=True)
    for _ in range(40):
        x, y = batch()
        (x.mm(weights) - y).pow(2).sum().backward()
        with torch.no_grad():
            weights -= 1e-6 * weights.grad
            weights.grad.zero_()


def loaded(rows):
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(rows, 32)), batch_size=SMALL)


def predicting():  # batches of a loader, and nothing is learnt
    net = parts()[0]
    with torch.no_grad():
        for x, in loaded(SMALL * 40):
            net(x).argmax(1)


def compiled_predicting():  # code is made for the first batch, and once more for a later one of another size
    model = torch.compile(nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 8)), backend="aot_eager", dynamic=False)
    with torch.no_grad():
        for i in range(40):
            model(torch.randn(SMALL // 2 if i == 25 else SMALL, 32)).argmax(1)


def exported():  # traced as a whole with a batch like the loop's, and then it predicts
    net = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32), nn.LayerNorm(32), nn.Linear(32, 1)).eval()
    model = torch.export.export(net, (torch.randn(SMALL, 32),)).module()
    with torch.no_grad():
        for _ in range(40):
            model(torch.randn(SMALL, 32))


def other_optimizer():  # batches of a loader, learnt by somebody's own optimizer, as Keras has one
    weights = torch.randn(32, 1, requires_grad=True)
    for _ in range(2):
        for x, in loaded(SMALL * 20):
            x.mm(weights).pow(2).sum().backward()
            with torch.no_grad():
                torch._foreach_add_([weights], [weights.grad], alpha=-1e-6)
                weights.grad.zero_()


def rank(number):  # of two that train together; no other has anything to do for it
    import torch.distributed as dist
    dist.init_process_group("gloo", init_method="file://" + os.path.join(sys.argv[1], "meeting"), rank=number, world_size=2)
    net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(32, 1024), nn.Linear(1024, 1024), nn.Linear(1024, 1)))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(12):
        x, y = batch(2)
        optimizer.zero_grad()
        loss_of(net(x), y).backward()
        optimizer.step()
    dist.barrier()
    dist.destroy_process_group()


def main(names):
    for name in names:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            who, _, number = name.partition(":")
            globals()[who](*([int(number)] if number else []))
            os._exit(0)
        print(name, child, flush=True)
        if not name.endswith(":0"):  # the first of two waits for the second
            if os.waitpid(child, 0)[1]:
                sys.exit(f"{name} failed")
    try:
        while True:
            if os.wait()[1]:
                sys.exit("a rank failed")
    except ChildProcessError:
        pass


main(sys.argv[2:])
